/* Translation shoot-down: a CPU that unmaps a page asks the others to drop what they hold of it, and awaits them.
 * No lock: two atomic cells of each CPU count what it was asked and what it has served. */
#ifndef ASHLAR_TLB_H
#define ASHLAR_TLB_H

#include <stdint.h>

#include "config.h"

/* Requires: start-up, one CPU runs. Ensures: no request is outstanding, no process has a CPU. */
void tlb_init(void);

/* Requires: start-up; p < NUM_PROCESS. Ensures: p's map may be loaded on the CPUs of the mask (bit c: CPU c). */
void tlb_set_cpus(uint32_t p, uint64_t cpu_mask);

/* The other CPUs that may hold translations of p: bit c: CPU c. */
uint64_t tlb_others(uint32_t p);

/* Asks a CPU to drop its translations of user addresses. */
void tlb_ask(uint32_t cpu);

/* Waits until a CPU uses no translation any more that was removed before it was asked. Requires: no lock held (the kernel
 * lock is left while waiting). Answers requests to this CPU meanwhile. */
void tlb_await_asked(uint32_t cpu);

/* Answers all requests to this CPU, in constant time. Call it on VECTOR_TLB. */
void tlb_service(void);

/* Requires that no CPU has been asked and not awaited yet (with LOCK_BIG: or it is awaited). */
uint32_t tlb_check(void);

#endif
