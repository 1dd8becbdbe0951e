/* Interrupts as messages. The kernel masks a line that has fired and signals; the driver's `irq_done` opens it again. There
 * is no call that closes a line: after `irq_off` at most one more interrupt comes, which masks the line and makes no
 * message. */
#include "ashlar/env.h"
#include "ashlar/syscall.h"
#include "domain_internal.h"
#include "pci_protocol.h"

/* While messages keep the domain from waiting, interrupts that are taken in order are asked for once in so many awaits. */
#define POLL_INTERVAL 16u

uint64_t interrupt_bit;

static uint32_t slot = NO_SLOT;
static uint32_t is_listening;
static uint32_t has_fired_again; /* while the driver still serves the interrupt before */
static uint32_t awaits;
uint32_t interrupt_is_first;
static struct pending message;

void interrupt_start(void)
{
    slot = env_slot_of_kind("interrupt");
    interrupt_bit = slot == NO_SLOT ? 0 : 1ul << (slot & 63u);
}

void domain_interrupts_first(uint32_t first)
{
    interrupt_is_first = first;
}

static void open_line(void)
{
    sys_irq_ack(slot);
    domain.interrupt_is_open = 1;
    domain_known = DOMAIN_NONE_KNOWN; /* it may be the first to be looked for now */
}

static void deliver(void)
{
    domain.interrupt_is_open = 0;
    domain_append(&message, PCI_IRQ, interrupt_is_first);
}

void interrupt_emit(uint32_t mailbox)
{
    if (slot == NO_SLOT) {
        return;
    }
    if (mailbox == PCI_IRQ_ON) {
        is_listening = 1;
        has_fired_again = 0;
        open_line();
    } else if (mailbox == PCI_IRQ_DONE) {
        open_line();
        if (has_fired_again) {
            has_fired_again = 0;
            deliver();
        }
    } else if (mailbox == PCI_IRQ_OFF) {
        is_listening = 0;
        domain.interrupt_is_open = 0;
        domain_retract(&message);
    }
}

void interrupt_has_fired(void)
{
    /* A signal from before the line was opened last does no harm: the driver asks the device for its state. */
    if (domain.interrupt_is_open) {
        deliver();
    } else if (is_listening) {
        has_fired_again = 1;
    }
}

uint32_t interrupt_must_poll(uint32_t more_awaits)
{
    awaits += more_awaits;
    if (interrupt_is_first || awaits >= POLL_INTERVAL) {
        awaits = 0;
        return 1;
    }
    return 0;
}

uint32_t interrupt_awaits_left(void)
{
    return POLL_INTERVAL - awaits;
}
