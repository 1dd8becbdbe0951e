/* Translation shoot-down: after tlb_invalidate no CPU uses an old translation of that page.
 * No lock: two atomic cells of each CPU count what it was asked and what it has served. */
#ifndef ASHLAR_TLB_H
#define ASHLAR_TLB_H

#include <stdint.h>

#include "config.h"

/* Requires: start-up, one CPU runs. Ensures: no request is outstanding, no process has a CPU. */
void tlb_init(void);

/* Requires: start-up; p < NUM_PROCESS. Ensures: p's map may be loaded on the CPUs of the mask (bit c: CPU c). */
void tlb_set_cpus(uint32_t p, uint64_t cpu_mask);

/* Drops the translation of the page at vaddr in p's map on all CPUs that may hold it, and waits until they have.
 * Requires: no lock held (the kernel lock is left while waiting). Answers requests to this CPU meanwhile. */
void tlb_invalidate(uint32_t p, uint64_t vaddr);

/* Answers all requests to this CPU, in constant time. Call it on VECTOR_TLB. */
void tlb_service(void);

/* Requires that no other CPU is in tlb_invalidate (with LOCK_BIG: or it waits there). */
uint32_t tlb_check(void);

#endif
