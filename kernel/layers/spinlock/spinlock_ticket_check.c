/* Is a lock free? Part of spinlock_ticket.c in debug builds. */

uint32_t spinlock_ticket_free(uint32_t lock)
{
    uint64_t next = arch_atomic_load(CELL_LOCK_BASE + 2u * lock);
    uint64_t served = arch_atomic_load(CELL_LOCK_BASE + 2u * lock + 1u);
    if (next == served) {
        return 1u;
    }
    return 0u;
}
