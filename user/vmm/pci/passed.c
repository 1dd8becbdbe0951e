/* The monitor as driver of the guest's device, and the way of an interrupt: the kernel masks the device's line and signals, the guest's
 * line is raised; once the guest has served it, the guest's line is lowered and the device's opened. If the device still has
 * something to say, it interrupts again at once: so its line need not be looked at.
 *
 * At the I/O controller the interrupt is served when it is ended. At the 8259 pair kernels end it before they serve it, and keep the
 * line masked until they have: there it is served when it was ended and the line is open.
 *
 * A line that does not fall silent is opened at a pace that leaves the guest time (pace.h). */
#include "pci/passed.h"

#include "ashlar/domain.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "clock.h"
#include "machine.h"
#include "pci/pace.h"
#include "pci_protocol.h"

#define REGISTERS 0x0000200000000000ul
#define REASON_REFUSED 1u

enum state {
    UNBOUND,
    ENABLING, /* the bus is to let it answer */
    WORKING,
    FAILED, /* after an error of the bus */
};

static enum state state;
static struct passed_identity identity;
static uint32_t was_given; /* the guest has got to know it */
static uint64_t size;      /* of its registers */
static uint32_t is_raised; /* an interrupt that the guest has not served */
static uint32_t is_taken;  /* ... and has begun to */
static uint32_t is_allowed;
static struct pace pace;
static uint64_t open_at = ~0ul; /* when the device may interrupt again */

static void say(uint32_t mailbox)
{
    domain_send(mailbox, 0, 0, 0);
}

static void drive_line(void)
{
    machine_set_line(PASSED_LINE, is_raised && is_allowed);
}

/* Its registers are not touched, and nothing comes from it, any more. */
static void lose(enum state next)
{
    if (state == WORKING && next != UNBOUND) {
        print("vmm: the guest's PCI device has failed\n");
    } else if (state == WORKING) {
        print("vmm: the guest's PCI device is gone\n");
    }
    state = next;
    is_raised = 0;
    is_taken = 0;
    open_at = ~0ul;
    drive_line();
}

const char *passed_connect(void)
{
    uint32_t slot = env_slot_of_kind("device");
    uint32_t status = slot == NO_SLOT ? ERR_BAD_SLOT : STATUS_OK;
    for (; status == STATUS_OK; size += status == STATUS_OK ? PAGE_SIZE : 0) {
        status = sys_device_map(slot, REGISTERS + size, size / PAGE_SIZE);
    }
    if (status != ERR_BAD_ARGUMENT) {
        return "its registers cannot be mapped";
    }
    if (size == 0 || (size & (size - 1)) != 0) {
        return "its registers are no power of two of bytes";
    }
    domain_serve(&pci_protocol);
    return 0;
}

uint32_t passed_map(uint64_t at, uint64_t own, uint64_t pages)
{
    uint32_t slot = env_slot_of_kind("dma");
    uint32_t status = slot == NO_SLOT ? ERR_BAD_SLOT : STATUS_OK;
    for (uint64_t i = 0; i < pages && status == STATUS_OK; i++) {
        uint64_t seen = 0;
        status = sys_dma_address(slot, own + i * PAGE_SIZE, at + i * PAGE_SIZE, &seen);
    }
    return status;
}

/* The guest can be given one device, once: it does not know that a device may come while it runs. */
static void probe(const struct pci_probe *probed)
{
    if (was_given) {
        static const struct pci_probe_fail body = {REASON_REFUSED};
        domain_send(PCI_PROBE_FAIL, 0, &body, sizeof body);
        return;
    }
    identity.vendor = probed->vendor;
    identity.device = probed->device;
    identity.class = probed->class;
    identity.revision = probed->revision;
    state = ENABLING;
    say(PCI_ENABLE);
}

static void enabled(void)
{
    if (state == ENABLING) {
        state = WORKING;
        was_given = 1;
        say(PCI_IRQ_ON);
        say(PCI_PROBE_OK);
    }
}

static void disable(void)
{
    say(PCI_IRQ_OFF);
    say(PCI_DISABLE);
}

static void unplugged(void)
{
    uint32_t was_bound = state != UNBOUND;
    lose(UNBOUND);
    if (was_bound) { /* else the bus did not know yet that it is released */
        say(PCI_UNPLUG_OK);
    }
}

static void removed(void)
{
    if (state == WORKING) {
        disable();
    }
    lose(UNBOUND);
    say(PCI_REMOVE_OK);
}

/* Only the guest's driver could set the device up again, and cannot be told to. */
static void refuse_to_suspend(void)
{
    static const struct pci_suspend_fail body = {REASON_REFUSED};
    domain_send(PCI_SUSPEND_FAIL, 0, &body, sizeof body);
}

static void fail(void)
{
    lose(FAILED);
    disable();
    say(PCI_UNRECOVERABLE);
}

void passed_receive(uint32_t mailbox)
{
    switch (mailbox) {
    case PCI_PROBE:
        probe((const struct pci_probe *)domain_current->payload);
        break;
    case PCI_ENABLED:
        enabled();
        break;
    case PCI_IRQ:
        pace_raise(&pace, clock_now());
        is_raised = 1;
        drive_line();
        break;
    case PCI_UNPLUG:
        unplugged();
        break;
    case PCI_REMOVE:
        removed();
        break;
    case PCI_SUSPEND:
        refuse_to_suspend();
        break;
    case PCI_BUS_ERROR:
        fail();
        break;
    default:
        break;
    }
}

const struct passed_identity *passed_known(void)
{
    return was_given ? &identity : 0;
}

uint64_t passed_size(void)
{
    return size;
}

uint64_t passed_read(uint64_t offset, uint32_t bytes)
{
    uint64_t at = REGISTERS + offset;
    if (state != WORKING || offset % bytes != 0) {
        return ~0ul;
    }
    switch (bytes) {
    case 1:
        return *(const volatile uint8_t *)at;
    case 2:
        return *(const volatile uint16_t *)at;
    case 4:
        return *(const volatile uint32_t *)at;
    default:
        return *(const volatile uint64_t *)at;
    }
}

void passed_write(uint64_t offset, uint32_t bytes, uint64_t value)
{
    uint64_t at = REGISTERS + offset;
    if (state != WORKING || offset % bytes != 0) {
        return;
    }
    switch (bytes) {
    case 1:
        *(volatile uint8_t *)at = (uint8_t)value;
        break;
    case 2:
        *(volatile uint16_t *)at = (uint16_t)value;
        break;
    case 4:
        *(volatile uint32_t *)at = (uint32_t)value;
        break;
    default:
        *(volatile uint64_t *)at = value;
        break;
    }
}

void passed_allow_interrupts(uint32_t allowed)
{
    is_allowed = allowed;
    drive_line();
}

void passed_end(void)
{
    if (is_raised) {
        uint64_t now = clock_now();
        is_taken = 0;
        is_raised = 0;
        drive_line();
        open_at = pace_serve(&pace, now);
        passed_expire(now);
    }
}

uint64_t passed_deadline(void)
{
    return open_at;
}

void passed_expire(uint64_t now)
{
    if (now >= open_at) {
        open_at = ~0ul;
        say(PCI_IRQ_DONE);
    }
}

void passed_follow(void)
{
    if (is_raised == 0) {
        return;
    }
    if (pic_is_serving(&machine.pic, PASSED_LINE)) {
        is_taken = 1;
    } else if (is_taken && pic_is_masked(&machine.pic, PASSED_LINE) == 0) {
        passed_end();
    }
}
