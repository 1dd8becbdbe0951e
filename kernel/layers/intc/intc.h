/* Interrupt controllers: line i of 0..NUM_IRQ_LINE-1 raises vector VECTOR_BASE + i on the CPU that it is routed to. */
#ifndef ASHLAR_INTC_H
#define ASHLAR_INTC_H

#include <stdint.h>

#define INTC_LEVEL 1u      /* flag: level triggered, else edge */
#define INTC_ACTIVE_LOW 2u /* flag: active low, else high */

/* Routes `line` to `cpu` with INTC_* flags and leaves it masked. Requires line < NUM_IRQ_LINE,
 * cpu < arch_cpu_count(). */
void intc_route(uint32_t line, uint32_t cpu, uint32_t flags);

/* Masks or unmasks `line`. Requires line < NUM_IRQ_LINE. */
void intc_mask(uint32_t line);
void intc_unmask(uint32_t line);

/* Lets this PCI function raise `line` by a message too. Requires: start-up; line < NUM_IRQ_LINE, routed; function < 65536. */
void intc_route_message(uint32_t line, uint32_t function);

/* The message: what is to be written, and where; the address is 0 if no function can raise `line` by one. Requires line <
 * NUM_IRQ_LINE. */
uint64_t intc_message_address(uint32_t line);
uint32_t intc_message_data(uint32_t line);

/* 1 if `line` is masked, else 0. Requires line < NUM_IRQ_LINE. */
uint32_t intc_masked(uint32_t line);

/* Acknowledges the last interrupt at this CPU's local controller, which can then deliver the next. */
void intc_end(void);

/* Interrupts `cpu` with `vector`. Requires cpu < arch_cpu_count(), VECTOR_BASE <= vector < VECTOR_SPURIOUS. */
void intc_send(uint32_t cpu, uint32_t vector);

#endif
