/* Private to the tlb layer. Not inlined, because the timing analysis treats its duration as waiting for other CPUs. */
#ifndef ASHLAR_TLB_PARTS_H
#define ASHLAR_TLB_PARTS_H

#include <stdint.h>

/* Waits until CPU `to` has answered CPU `cpu`, which this is. It answers when it next takes interrupts or waits here
 * itself, so the wait is bounded by its longest section with interrupts off. */
void tlb_await(uint32_t cpu, uint32_t to);

#endif
