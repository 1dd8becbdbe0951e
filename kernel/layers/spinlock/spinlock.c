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

#if DEBUG
#include "spinlock_check.c"
#endif
