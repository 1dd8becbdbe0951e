/* Spin locks: ticket or MCS behind one interface, chosen by the build (LOCK_TICKET, LOCK_MCS). Both serve CPUs in
 * arrival order, so no CPU starves: it waits for at most NUM_CPU - 1 critical sections. With LOCK_BIG these locks do
 * nothing and one lock around the whole kernel takes their place, for comparison.
 *
 * A lock is acquired and released inside one layer. Ids are in layer order; a CPU acquires only locks with smaller
 * ids than those it holds, so there is no deadlock. Interrupts are off. */
#ifndef ASHLAR_SPINLOCK_H
#define ASHLAR_SPINLOCK_H

#include <stdint.h>

#include "config.h"

#define LOCK_KERNEL 0u /* the one lock of LOCK_BIG; nobody else names it */
#define LOCK_CONSOLE 1u
#define LOCK_CONSOLE_PORT 2u
#define LOCK_KEYBOARD 3u
#define LOCK_INTC 4u
#define LOCK_TIMER 5u
#define LOCK_CONTAINER 6u
#define LOCK_FRAME 7u
#define LOCK_PAGEMAP_BASE 8u
#define LOCK_SHARE (LOCK_PAGEMAP_BASE + NUM_PROCESS)
#define LOCK_PENDING_BASE (LOCK_SHARE + 1u)
#define LOCK_BBQ_BASE (LOCK_PENDING_BASE + NUM_CPU)
#define LOCK_ENDPOINT_BASE (LOCK_BBQ_BASE + NUM_BBQ)
#define LOCK_NOTIFICATION_BASE (LOCK_ENDPOINT_BASE + NUM_ENDPOINT)
#define LOCK_REQUEST_BASE (LOCK_NOTIFICATION_BASE + NUM_NOTIFICATION)
#define LOCK_SPACE_BASE (LOCK_REQUEST_BASE + NUM_CPU)
#define LOCK_PROCESS_BASE (LOCK_SPACE_BASE + NUM_PROCESS)
#define LOCK_IRQ (LOCK_PROCESS_BASE + NUM_PROCESS)
#define LOCK_DEVICE (LOCK_IRQ + 1u)
#define LOCK_NPT_BASE (LOCK_DEVICE + 1u)
#define LOCK_VCPU_BASE (LOCK_NPT_BASE + NUM_VM)
#define NUM_LOCK (LOCK_VCPU_BASE + NUM_VM)

/* Atomic cells (arch.h): who owns which. Cells of a lock: 0 ticket to be drawn or MCS tail, 1 ticket served. */
#define CELL_LOCK_BASE 0u
#define CELL_MCS_BASE (CELL_LOCK_BASE + 2u * NUM_LOCK)     /* per lock and CPU: 0 busy, 1 successor */
#define CELL_TLB_BASE (CELL_MCS_BASE + 2u * NUM_LOCK * NUM_CPU) /* layer tlb: request of CPU i to CPU j at i * NUM_CPU + j */
#define CELL_DYING_BASE (CELL_TLB_BASE + NUM_CPU * NUM_CPU) /* layer process: 1 while process i is DYING */
#define CELL_WALK (CELL_DYING_BASE + NUM_PROCESS)          /* layer syscall: 1 while a CPU walks all tables */
#define CELL_HELD (CELL_WALK + 1u)                         /* layer syscall: CPUs that stand still meanwhile */
#define CELL_FREE_BASE (CELL_HELD + 1u)                    /* unused from here on */

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
