/* Spin locks: ticket or MCS behind one interface, chosen by the build (LOCK_TICKET, LOCK_MCS). Both serve CPUs in
 * arrival order, so no CPU starves: it waits for at most NUM_CPU - 1 critical sections. With LOCK_BIG these locks do
 * nothing and one lock around the whole kernel takes their place, for comparison.
 *
 * A lock is acquired and released inside one layer. Ids are in layer order; a CPU acquires only locks with smaller
 * ids than those it holds, so there is no deadlock. Interrupts are off. */
#ifndef ASHLAR_SPINLOCK_H
#define ASHLAR_SPINLOCK_H

#include <stdint.h>

#include "locks.h"

#define LOCK_KERNEL 0u /* the one lock of LOCK_BIG; no other layer names it */

/* Cells of the locks. Of lock i two: 0 next ticket or MCS tail, 1 ticket served. */
#define CELL_LOCK_BASE 0u
#define CELL_MCS_BASE (CELL_LOCK_BASE + 2u * NUM_LOCK) /* per lock and CPU: 0 busy, 1 successor */

/* Requires: lock < NUM_LOCK, not held by this CPU, every lock this CPU holds has a greater id. Ensures: this CPU
 * holds lock, no other does. */
void spinlock_acquire(uint32_t lock);

/* Releases lock, which this CPU holds; the CPU that has waited longest gets it. */
void spinlock_release(uint32_t lock);

/* Entry to and exit from the kernel: with LOCK_BIG they acquire and release the kernel lock, otherwise they do
 * nothing. Requires: the kernel lock is not held by this CPU (enter), held (exit). */
void spinlock_kernel_enter(void);
void spinlock_kernel_exit(void);

/* Invariant walk (debug builds): 0, or the number of the broken invariant. Requires that no CPU holds or waits for a
 * lock other than the kernel lock. */
uint32_t spinlock_check(void);

#endif
