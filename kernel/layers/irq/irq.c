/* Device interrupts: mask and notify. */
#include "irq.h"

#include "abi.h"
#include "arch.h"
#include "console.h"
#include "intc.h"
#include "keyboard.h"
#include "notify.h"
#include "spinlock.h"

/* notification, NONE for a line that is not bound, and bits are constant after start-up; open is guarded by LOCK_IRQ. */
struct irq {
    uint32_t notification;
    uint32_t open; /* 1: unmasked at the controller */
    uint64_t bits;
};

/* Constant after start-up. */
struct irq_console {
    uint32_t notification; /* or NONE */
    uint32_t spare;
    uint64_t bits;
};

static struct irq irq[NUM_IRQ_LINE];
static struct irq_console irq_console[NUM_CONSOLE];

void irq_init(void)
{
    for (uint32_t line = 0u; line < NUM_IRQ_LINE; line = line + 1u) {
        irq[line].notification = NONE;
        irq[line].open = 0u;
        irq[line].bits = 0u;
    }
    for (uint32_t console = 0u; console < NUM_CONSOLE; console = console + 1u) {
        irq_console[console].notification = NONE;
        irq_console[console].bits = 0u;
    }
}

void irq_define(uint32_t line, uint32_t notification, uint64_t bits, uint32_t cpu, uint32_t flags)
{
    irq[line].notification = notification;
    irq[line].bits = bits;
    intc_route(line, cpu, flags);
}

void irq_define_message(uint32_t line, uint32_t function)
{
    intc_route_message(line, function);
}

uint64_t irq_message_address(uint32_t line)
{
    uint64_t address = intc_message_address(line);
    return address;
}

uint32_t irq_message_data(uint32_t line)
{
    uint32_t data = intc_message_data(line);
    return data;
}

void irq_define_console(uint32_t console, uint32_t notification, uint64_t bits)
{
    irq_console[console].notification = notification;
    irq_console[console].bits = bits;
}

void irq_define_kernel_lines(uint32_t cpu)
{
    console_serve_on(cpu);
    intc_route(SERIAL_LINE, cpu, 0u);
    intc_unmask(SERIAL_LINE);
    intc_route(KEYBOARD_LINE, cpu, 0u);
    intc_unmask(KEYBOARD_LINE);
}

/* The consoles in `mask`, at most CONSOLE_REACHED of them, have new input. */
static void irq_console_input(uint32_t mask)
{
    uint64_t left = (uint64_t)mask;
    for (uint32_t i = 0u; i < CONSOLE_REACHED && left != 0ul; i = i + 1u) {
        uint32_t console = arch_highest_bit(left);
        left = left & ~(1ul << console);
        if (irq_console[console].notification != NONE) {
            notify_signal(irq_console[console].notification, irq_console[console].bits);
        }
    }
}

/* Keys go to the first user console: console 0 is the kernel's own and has no reader. */
static void irq_keyboard(void)
{
    uint32_t key = keyboard_interrupt();
    if (key != NONE) {
        console_input(1u, key);
        irq_console_input(2u);
    }
}

void irq_interrupt(uint32_t line)
{
    if (line == SERIAL_LINE) {
        uint32_t mask = console_interrupt();
        if (mask == 0u) {
            intc_end();
            return;
        }
        intc_end();
        irq_console_input(mask);
        return;
    }
    if (line == KEYBOARD_LINE) {
        irq_keyboard();
        intc_end();
        return;
    }
    spinlock_acquire(LOCK_IRQ);
    irq[line].open = 0u;
    intc_mask(line);
    spinlock_release(LOCK_IRQ);
    intc_end();
    if (irq[line].notification != NONE) {
        notify_signal(irq[line].notification, irq[line].bits);
    }
}

uint32_t irq_ack(uint32_t line)
{
    if (irq[line].notification == NONE) {
        return ERR_BAD_STATE;
    }
    spinlock_acquire(LOCK_IRQ);
    irq[line].open = 1u;
    intc_unmask(line);
    spinlock_release(LOCK_IRQ);
    return STATUS_OK;
}

void irq_release(uint32_t line)
{
    spinlock_acquire(LOCK_IRQ);
    irq[line].open = 0u;
    intc_mask(line);
    spinlock_release(LOCK_IRQ);
}

uint32_t irq_check(void)
{
    for (uint32_t line = 0u; line < NUM_IRQ_LINE; line = line + 1u) {
        if (irq[line].notification != NONE && irq[line].notification >= NUM_NOTIFICATION) {
            return 1u;
        }
        if (irq[line].open == 1u && irq[line].notification == NONE) {
            return 2u;
        }
    }
    for (uint32_t console = 0u; console < NUM_CONSOLE; console = console + 1u) {
        if (irq_console[console].notification != NONE && irq_console[console].notification >= NUM_NOTIFICATION) {
            return 3u;
        }
    }
    return 0u;
}
