/* Private to the tlb layer. Not inlined, because the timing analysis treats its duration as waiting for other CPUs. */
#ifndef ASHLAR_TLB_PARTS_H
#define ASHLAR_TLB_PARTS_H

#include <stdint.h>

/* Waits until `cpu`, another one, has served the ticket. It does when it next takes interrupts or waits here itself, so
 * the wait is bounded by its longest section with interrupts off. */
void tlb_await(uint32_t cpu, uint64_t ticket);

#endif
