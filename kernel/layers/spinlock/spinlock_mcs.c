/* MCS locks: a queue of CPUs, each spinning on a cell of its own, so that a release disturbs only the next CPU of the
 * queue. The tail cell holds the last CPU of the queue plus one, 0 if the lock is free. Each CPU has a node per lock:
 * busy, on which it waits, and successor (a CPU plus one, 0 if none is known yet). */
#include "arch.h"
#include "spinlock.h"
#include "spinlock_parts.h"

/* First cell of the node of a CPU for a lock. */
static uint32_t spinlock_mcs_node(uint32_t lock, uint32_t cpu)
{
    return CELL_MCS_BASE + 2u * (lock * NUM_CPU + cpu);
}

/* Queues behind the CPU before (a CPU plus one) and waits for it. */
static void spinlock_mcs_wait(uint32_t lock, uint32_t cpu, uint32_t before)
{
    uint32_t node = spinlock_mcs_node(lock, cpu);
    uint32_t node_before = spinlock_mcs_node(lock, before - 1u);
    arch_atomic_store(node, 1ul);
    arch_atomic_store(node_before + 1u, (uint64_t)cpu + 1ul);
    uint64_t busy = arch_atomic_load(node);
    while (busy != 0ul) {
        arch_spin_hint();
        busy = arch_atomic_load(node);
    }
}

void spinlock_mcs_acquire(uint32_t lock)
{
    uint32_t cpu = arch_cpu();
    uint32_t node = spinlock_mcs_node(lock, cpu);
    arch_atomic_store(node + 1u, 0ul);
    uint64_t before = arch_atomic_swap(CELL_LOCK_BASE + 2u * lock, (uint64_t)cpu + 1ul);
    if (before != 0ul) {
        spinlock_mcs_wait(lock, cpu, (uint32_t)before);
    }
}

void spinlock_mcs_release(uint32_t lock)
{
    uint32_t cpu = arch_cpu();
    uint32_t node = spinlock_mcs_node(lock, cpu);
    uint64_t self = (uint64_t)cpu + 1ul;
    uint64_t next = arch_atomic_load(node + 1u);
    if (next == 0ul) {
        uint64_t tail = arch_atomic_cas(CELL_LOCK_BASE + 2u * lock, self, 0ul);
        if (tail == self) {
            return;
        }
        /* Another CPU has queued behind this one and is about to set the successor. */
        next = arch_atomic_load(node + 1u);
        while (next == 0ul) {
            arch_spin_hint();
            next = arch_atomic_load(node + 1u);
        }
    }
    uint32_t node_next = spinlock_mcs_node(lock, (uint32_t)next - 1u);
    arch_atomic_store(node_next, 0ul);
}

#if DEBUG
#include "spinlock_mcs_check.c"
#endif
