/* Ticket locks: draw the next ticket, wait until it is served. The two cells are on different cache lines, so that
 * drawing a ticket does not disturb waiting CPUs. Tickets are 64 bits wide and wrap around after 2^64 acquisitions,
 * harmlessly: only equality matters, and at most NUM_CPU tickets are out. */
#include "arch.h"
#include "spinlock.h"
#include "spinlock_parts.h"

void spinlock_ticket_wait(uint32_t lock, uint64_t ticket)
{
    uint64_t served = arch_atomic_load(CELL_LOCK_BASE + 2u * lock + 1u);
    while (served != ticket) {
        arch_spin_hint();
        served = arch_atomic_load(CELL_LOCK_BASE + 2u * lock + 1u);
    }
}

void spinlock_ticket_acquire(uint32_t lock)
{
    uint64_t ticket = arch_atomic_fetch_add(CELL_LOCK_BASE + 2u * lock, 1ul);
    uint64_t served = arch_atomic_load(CELL_LOCK_BASE + 2u * lock + 1u);
    if (served != ticket) {
        spinlock_ticket_wait(lock, ticket);
    }
}

/* Only the holder writes the served cell, so load and store need not be one step. */
void spinlock_ticket_release(uint32_t lock)
{
    uint64_t served = arch_atomic_load(CELL_LOCK_BASE + 2u * lock + 1u);
    arch_atomic_store(CELL_LOCK_BASE + 2u * lock + 1u, served + 1ul);
}

#if DEBUG
#include "spinlock_ticket_check.c"
#endif
