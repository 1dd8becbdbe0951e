/* The lock order and the atomic cells: the one place that assigns their ids, in the order of layers.order. No
 * layer owns this table. A name begins with the layer that uses it; `c2coq check` refuses its use by another
 * layer. */
#ifndef ASHLAR_LOCKS_H
#define ASHLAR_LOCKS_H

#include "config.h"

/* Locks. A CPU acquires only locks with smaller ids than those it holds. Id 0 is the kernel lock of LOCK_BIG; 3 to
 * 5 are unused. */
#define LOCK_CONSOLE 1u
#define LOCK_CONSOLE_PORT 2u
#define LOCK_CONTAINER 6u
#define LOCK_FRAME 7u
#define LOCK_PAGEMAP_BASE 8u
#define LOCK_SHARE (LOCK_PAGEMAP_BASE + NUM_PROCESS)
#define LOCK_SCHED_PENDING_BASE (LOCK_SHARE + 1u)
#define LOCK_BUFFER_BASE (LOCK_SCHED_PENDING_BASE + NUM_CPU)
#define LOCK_ENDPOINT_BASE (LOCK_BUFFER_BASE + NUM_BUFFER)
#define LOCK_NOTIFY_BASE (LOCK_ENDPOINT_BASE + NUM_ENDPOINT)
#define LOCK_PROCESS_REQUEST_BASE (LOCK_NOTIFY_BASE + NUM_NOTIFICATION)
#define LOCK_PROCESS_SPACE_BASE (LOCK_PROCESS_REQUEST_BASE + NUM_CPU)
#define LOCK_PROCESS_BASE (LOCK_PROCESS_SPACE_BASE + NUM_PROCESS)
#define LOCK_IRQ (LOCK_PROCESS_BASE + NUM_PROCESS)
#define LOCK_IOMMU (LOCK_IRQ + 1u)
#define LOCK_NPT_BASE (LOCK_IOMMU + 1u)
#define LOCK_VCPU_BASE (LOCK_NPT_BASE + NUM_VM)
#define NUM_LOCK (LOCK_VCPU_BASE + NUM_VM)

/* Atomic cells (arch.h). The first belong to the locks: two for each, and two for each lock and CPU. */
#define NUM_LOCK_CELL (2u * NUM_LOCK + 2u * NUM_LOCK * NUM_CPU)
#define CELL_TLB_BASE NUM_LOCK_CELL                                 /* asked of CPU i at i, served at NUM_CPU + i */
#define CELL_PROCESS_DYING_BASE (CELL_TLB_BASE + NUM_CPU * NUM_CPU) /* 1 while process i is DYING */
#define CELL_STOP_STATE (CELL_PROCESS_DYING_BASE + NUM_PROCESS)     /* STOP_* of layer stop */
#define CELL_STOP_HELD (CELL_STOP_STATE + 1u)                       /* number of stopped CPUs */
#define CELL_UNUSED_BASE (CELL_STOP_HELD + 1u)

#endif
