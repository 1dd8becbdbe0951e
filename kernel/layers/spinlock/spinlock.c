/* The build's choice of lock algorithm. */
#include "spinlock.h"

#include "arch.h"
#include "spinlock_parts.h"

#if !defined(LOCK_TICKET) && !defined(LOCK_MCS) && !defined(LOCK_BIG)
#error "define LOCK_TICKET, LOCK_MCS or LOCK_BIG"
#endif

void spinlock_acquire(uint32_t lock)
{
#if defined(LOCK_TICKET)
    spinlock_ticket_acquire(lock);
    arch_own(lock);
#elif defined(LOCK_MCS)
    spinlock_mcs_acquire(lock);
    arch_own(lock);
#endif
}

void spinlock_release(uint32_t lock)
{
#if defined(LOCK_TICKET)
    arch_disown(lock);
    spinlock_ticket_release(lock);
#elif defined(LOCK_MCS)
    arch_disown(lock);
    spinlock_mcs_release(lock);
#endif
}

void spinlock_kernel_enter(void)
{
#if defined(LOCK_BIG)
    spinlock_ticket_acquire(LOCK_KERNEL);
#endif
}

void spinlock_kernel_exit(void)
{
#if defined(LOCK_BIG)
    spinlock_ticket_release(LOCK_KERNEL);
#endif
}

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
