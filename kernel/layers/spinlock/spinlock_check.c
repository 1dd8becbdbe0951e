/* The invariant walk over locks. Part of spinlock.c in debug builds. */

uint32_t spinlock_check(void)
{
    for (uint32_t lock = LOCK_KERNEL + 1u; lock < NUM_LOCK; lock = lock + 1u) {
#if defined(LOCK_MCS)
        uint32_t is_free = spinlock_mcs_free(lock);
#else
        uint32_t is_free = spinlock_ticket_free(lock);
#endif
        if (is_free == 0u) {
            return 1u;
        }
    }
    return 0u;
}
