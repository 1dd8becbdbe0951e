/* Device interrupts: each bound line masks itself and signals a notification when it fires, nothing else; the driver
 * acknowledges when it has served the device. Console input is delivered the same way.
 *
 * An event that belongs to a grant slot sets bit `slot` of the notification named by the grant's badge.
 *
 * Lock: LOCK_IRQ guards the bindings and which lines are open. */
#ifndef ASHLAR_IRQ_H
#define ASHLAR_IRQ_H

#include <stdint.h>

#include "config.h"

/* Requires: start-up, one CPU. Ensures: nothing is bound. */
void irq_init(void);

/* Requires: start-up; line < NUM_IRQ_LINE, not SERIAL_LINE or KEYBOARD_LINE; notification defined; cpu started; flags as
 * arch_line_route. Ensures: routed and masked; its first irq_ack opens it. */
void irq_define(uint32_t line, uint32_t notification, uint64_t bits, uint32_t cpu, uint32_t flags);

/* Requires: start-up; console < NUM_CONSOLE; notification defined. Ensures: new input signals bits. */
void irq_define_console(uint32_t console, uint32_t notification, uint64_t bits);

/* The kernel's own lines: routed to cpu and open. */
void irq_define_kernel_lines(uint32_t cpu);

/* Line fired. Serial and keyboard lines are served; a bound line is masked and its notification signalled; any other
 * line is masked. Ends the interrupt at the controller. Requires: line < NUM_IRQ_LINE, no lock held. */
void irq_interrupt(uint32_t line);

/* Opens the line for its next interrupt. Returns STATUS_OK; ERR_BAD_STATE (not bound). */
uint32_t irq_ack(uint32_t line);

/* The driver ended: the line is masked until the next irq_ack. */
void irq_release(uint32_t line);

uint32_t irq_check(void);

#endif
