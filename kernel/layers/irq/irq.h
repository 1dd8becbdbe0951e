/* Device interrupts: when a bound line fires, the kernel masks it and signals a notification; the driver acknowledges
 * it (irq_ack) when it has served the device. Console input is signalled the same way.
 *
 * A PCI function may raise a line by a message instead of its pin. A message cannot be masked: one that comes before the last was
 * acknowledged signals as well.
 *
 * An event that belongs to a grant slot sets bit `slot` of the notification named by the grant's badge.
 *
 * The bindings are constant after start-up. Lock: LOCK_IRQ guards which lines are open, and the interrupt controller's
 * registers: they are reached through one index register that all CPUs share, so two accesses must not mix. It is held
 * for the masking or unmasking of one line and for nothing else. */
#ifndef ASHLAR_IRQ_H
#define ASHLAR_IRQ_H

#include <stdint.h>

#include "config.h"

/* Requires: start-up, one CPU. Ensures: nothing is bound. */
void irq_init(void);

/* Requires: start-up; line < NUM_IRQ_LINE, not SERIAL_LINE or KEYBOARD_LINE; notification defined; cpu started; flags
 * as arch_line_route. Ensures: routed and masked; the first irq_ack unmasks it. */
void irq_define(uint32_t line, uint32_t notification, uint64_t bits, uint32_t cpu, uint32_t flags);

/* Requires: start-up; line defined by irq_define; function < 65536. Ensures: this PCI function may raise the line by a message. */
void irq_define_message(uint32_t line, uint32_t function);

/* The message by which the line's PCI function raises it; the address is 0 if there is none. Requires: line < NUM_IRQ_LINE. */
uint64_t irq_message_address(uint32_t line);
uint32_t irq_message_data(uint32_t line);

/* Requires: start-up; console < NUM_CONSOLE; notification defined. Ensures: new input signals bits. */
void irq_define_console(uint32_t console, uint32_t notification, uint64_t bits);

/* Routes the kernel's own lines (serial, keyboard) to cpu and unmasks them. */
void irq_define_kernel_lines(uint32_t cpu);

/* The interrupt of a line. Serial port and keyboard are served; a bound line is masked and its notification
 * signalled; any other line is masked. Ends the interrupt at the controller. Requires: line < NUM_IRQ_LINE, no lock
 * held. */
void irq_interrupt(uint32_t line);

/* Unmasks the line for its next interrupt. Returns STATUS_OK; ERR_BAD_STATE (not bound). */
uint32_t irq_ack(uint32_t line);

/* Called when the driver ends: the line is masked until the next irq_ack. */
void irq_release(uint32_t line);

uint32_t irq_check(void);

#endif
