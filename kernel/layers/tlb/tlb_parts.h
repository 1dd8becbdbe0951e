/* What the tlb layer keeps apart, because the time it takes is up to others. No other layer includes this. */
#ifndef ASHLAR_TLB_PARTS_H
#define ASHLAR_TLB_PARTS_H

#include <stdint.h>

/* Waits until CPU `to` has answered CPU `cpu`, which this is. It answers when it next takes interrupts or waits here itself,
 * so the wait is as long as its longest stretch in the kernel. */
void tlb_await(uint32_t cpu, uint32_t to);

#endif
