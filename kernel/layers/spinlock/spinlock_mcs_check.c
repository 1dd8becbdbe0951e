/* Is a lock free? Part of spinlock_mcs.c in debug builds. */

uint32_t spinlock_mcs_free(uint32_t lock)
{
    uint64_t tail = arch_atomic_load(CELL_LOCK_BASE + 2u * lock);
    if (tail == 0ul) {
        return 1u;
    }
    return 0u;
}
