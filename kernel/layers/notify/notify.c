/* Notifications. */
#include "notify.h"

#include "abi.h"
#include "arch.h"
#include "intc.h"
#include "notify_parts.h"
#include "queue.h"
#include "sched.h"
#include "spinlock.h"
#include "thread.h"
#include "timer.h"
#include "uctx.h"

/* One cache line each, 512 bytes apart, kernel.ld says why. Guarded by LOCK_NOTIFY_BASE + n; owner is constant after start-up. */
struct notification {
    uint64_t bits;
    uint32_t waiter;  /* the thread that has waited longest; NONE: none waits */
    uint32_t waiters; /* number of those that wait behind it, in the queue */
    uint32_t owner;
    uint32_t watcher; /* CPU that runs a guest until a bit is set, or NONE */
    uint32_t open;    /* 1: its owner lives, from creation until teardown. Else no bit is set */
    uint32_t spare;
    uint64_t spare_words[60];
};

static struct notification notification[NUM_NOTIFICATION];

void notify_init(void)
{
    for (uint32_t n = 0u; n < NUM_NOTIFICATION; n = n + 1u) {
        notification[n].bits = 0u;
        notification[n].waiter = NONE;
        notification[n].waiters = 0u;
        notification[n].owner = NONE;
        notification[n].watcher = NONE;
        notification[n].open = 0u;
    }
}

void notify_define(uint32_t n, uint32_t owner)
{
    notification[n].owner = owner;
    notification[n].bits = 0u;
    notification[n].open = 0u;
}

uint32_t notify_owner(uint32_t n)
{
    return notification[n].owner;
}

void notify_next_waiter(uint32_t n)
{
    notification[n].waiter = queue_dequeue(QUEUE_NOTIFICATION_BASE + n);
    notification[n].waiters = notification[n].waiters - 1u;
}

/* Removes and returns the thread that has waited longest for n, or NONE. Requires: lock of n held. */
static uint32_t notify_dequeue(uint32_t n)
{
    uint32_t t = notification[n].waiter;
    if (t != NONE) {
        notification[n].waiter = NONE;
        if (notification[n].waiters != 0u) {
            notify_next_waiter(n);
        }
    }
    return t;
}

/* Requires: lock of n held. */
static void notify_enqueue(uint32_t n, uint32_t t)
{
    if (notification[n].waiter == NONE) {
        notification[n].waiter = t;
    } else {
        queue_enqueue(QUEUE_NOTIFICATION_BASE + n, t);
        notification[n].waiters = notification[n].waiters + 1u;
    }
}

/* Removes t, which waits for n. Requires: lock of n held. */
static void notify_remove(uint32_t n, uint32_t t)
{
    if (notification[n].waiter == t) {
        notify_dequeue(n);
    } else {
        queue_remove(t);
        notification[n].waiters = notification[n].waiters - 1u;
    }
}

/* Stores the outcome of t's wait. Requires: t has been removed from n, whose lock is held. The caller of this function
 * makes t ready when it has released the lock. */
static void notify_end(uint32_t t, uint32_t status)
{
    uctx_set(t, UCTX_RAX, (uint64_t)status);
    thread_end_wait(t);
}

void notify_keep(uint32_t n, uint64_t bits)
{
    uint32_t cpu = arch_cpu();
    uint32_t watcher = NONE;
    if (notification[n].open == 1u) {
        notification[n].bits = notification[n].bits | bits;
        watcher = notification[n].watcher;
    }
    spinlock_release(LOCK_NOTIFY_BASE + n);
    if (watcher != NONE && watcher != cpu) {
        intc_send(watcher, VECTOR_RESCHEDULE);
    }
}

/* Sets bits. Returns the first waiter, which has got them and which the caller makes ready; or NONE. */
static uint32_t notify_give(uint32_t n, uint64_t bits)
{
    spinlock_acquire(LOCK_NOTIFY_BASE + n);
    uint32_t t = notify_dequeue(n);
    if (t == NONE) {
        notify_keep(n, bits);
        return NONE;
    }
    uctx_set(t, UCTX_RDI, bits); /* where a thread waits, no bit is set */
    notify_end(t, STATUS_OK);
    spinlock_release(LOCK_NOTIFY_BASE + n);
    return t;
}

void notify_signal(uint32_t n, uint64_t bits)
{
    uint32_t t = notify_give(n, bits);
    if (t != NONE) {
        sched_ready(t);
    }
}

/* As notify_signal, but a waiter of this CPU is not made ready: it is returned, and the caller switches to it or
 * makes it ready before it leaves the kernel. No other thread can run on this CPU meanwhile, and only this CPU
 * changes its threads. Returns NONE if there is no such waiter. */
static uint32_t notify_signal_here(uint32_t n, uint64_t bits)
{
    uint32_t cpu = arch_cpu();
    uint32_t t = notify_give(n, bits);
    if (t == NONE) {
        return NONE;
    }
    uint32_t home = thread_cpu(t);
    if (home != cpu) {
        sched_ready_remote(t);
        return NONE;
    }
    return t;
}

/* Takes the bits of n for the current thread or, if none is set and the deadline has not passed, marks it as waiting.
 * Returns 1 if it is to block, else 0. */
static uint32_t notify_begin_wait(uint32_t n, uint32_t current, uint64_t deadline)
{
    uint64_t now = 0u;
    if (deadline != NOTIFY_FOREVER) {
        now = timer_now();
    }
    spinlock_acquire(LOCK_NOTIFY_BASE + n);
    uint64_t bits = notification[n].bits;
    if (bits != 0u || deadline <= now) {
        notification[n].bits = 0u;
        spinlock_release(LOCK_NOTIFY_BASE + n);
        uctx_set(current, UCTX_RAX, ERR_TIMEOUT);
        if (bits != 0u) {
            uctx_set(current, UCTX_RAX, STATUS_OK);
            uctx_set(current, UCTX_RDI, bits);
        }
        return 0u;
    }
    thread_set_wait(current, WAIT_NOTIFICATION, LOCK_NOTIFY_BASE + n);
    notify_enqueue(n, current);
    sched_prepare_block(current);
    spinlock_release(LOCK_NOTIFY_BASE + n);
    /* The thread may have been woken by now, but runs on this CPU only. */
    return 1u;
}

void notify_block_until(uint32_t current, uint64_t deadline)
{
    sched_set_deadline(current, deadline);
    sched_block();
    /* By the thread itself: the wait may have been ended on another CPU, and deadlines belong to this CPU. */
    sched_clear_deadline(current);
}

void notify_wait_until(uint32_t n, uint64_t deadline)
{
    uint32_t current = thread_current();
    uint32_t blocks = notify_begin_wait(n, current, deadline);
    if (blocks == 1u) {
        notify_block_until(current, deadline);
    }
}

uint32_t notify_wait(uint32_t n, uint64_t deadline)
{
    uint32_t current = thread_current();
    uint32_t blocks = notify_begin_wait(n, current, deadline);
    if (blocks == 0u) {
        return 0u;
    }
    if (deadline != NOTIFY_FOREVER) {
        notify_block_until(current, deadline);
    } else {
        sched_block_to_leave();
    }
    return 1u;
}

uint32_t notify_signal_wait(uint32_t signalled, uint64_t bits, uint32_t n)
{
    uint32_t current = thread_current();
    uint32_t woken = notify_signal_here(signalled, bits);
    if (woken == NONE) {
        uint32_t alone = notify_begin_wait(n, current, NOTIFY_FOREVER);
        if (alone == 1u) {
            sched_block_to_leave();
        }
        return alone;
    }
    uint32_t blocks = notify_begin_wait(n, current, NOTIFY_FOREVER);
    if (blocks == 1u) {
        sched_switch_to(woken);
    } else {
        sched_ready(woken);
    }
    return blocks;
}

uint64_t notify_poll(uint32_t n)
{
    spinlock_acquire(LOCK_NOTIFY_BASE + n);
    uint64_t bits = notification[n].bits;
    notification[n].bits = 0u;
    spinlock_release(LOCK_NOTIFY_BASE + n);
    return bits;
}

uint32_t notify_pending(uint32_t n)
{
    uint32_t pending = 0u;
    spinlock_acquire(LOCK_NOTIFY_BASE + n);
    if (notification[n].bits != 0u) {
        pending = 1u;
    }
    spinlock_release(LOCK_NOTIFY_BASE + n);
    return pending;
}

uint32_t notify_watch(uint32_t n)
{
    uint32_t pending = 0u;
    uint32_t cpu = arch_cpu();
    spinlock_acquire(LOCK_NOTIFY_BASE + n);
    notification[n].watcher = cpu;
    if (notification[n].bits != 0u) {
        pending = 1u;
    }
    spinlock_release(LOCK_NOTIFY_BASE + n);
    return pending;
}

void notify_unwatch(uint32_t n)
{
    spinlock_acquire(LOCK_NOTIFY_BASE + n);
    notification[n].watcher = NONE;
    spinlock_release(LOCK_NOTIFY_BASE + n);
}

/* Begins or ends a life of n: no bit of another one is left. */
static void notify_set_open(uint32_t n, uint32_t open)
{
    spinlock_acquire(LOCK_NOTIFY_BASE + n);
    notification[n].bits = 0u;
    notification[n].watcher = NONE;
    notification[n].open = open;
    spinlock_release(LOCK_NOTIFY_BASE + n);
}

void notify_open(uint32_t n)
{
    notify_set_open(n, 1u);
}

void notify_close(uint32_t n)
{
    notify_set_open(n, 0u);
}

/* Ends t's wait with this outcome if it waits here and no other CPU has just ended its wait. Returns 1 if so, else 0. The
 * caller makes t ready. */
static uint32_t notify_end_wait(uint32_t t, uint32_t status)
{
    /* The object cannot change meanwhile: t belongs to this CPU. It may be that of a wait that is over. */
    uint32_t lock = thread_wait_object(t);
    uint32_t n = lock - LOCK_NOTIFY_BASE;
    if (n >= NUM_NOTIFICATION) {
        return 0u;
    }
    spinlock_acquire(lock);
    uint32_t kind = thread_wait_kind(t);
    if (kind == WAIT_NOTIFICATION) {
        notify_remove(n, t);
        notify_end(t, status);
    }
    spinlock_release(lock);
    if (kind != WAIT_NOTIFICATION) {
        return 0u;
    }
    return 1u;
}

uint32_t notify_cancel(uint32_t t)
{
    uint32_t waits = notify_end_wait(t, ERR_CANCELLED);
    if (waits == 1u) {
        sched_ready(t);
    }
    return waits;
}

uint32_t notify_timeout(uint32_t t)
{
    uint32_t waits = notify_end_wait(t, ERR_TIMEOUT);
    return waits;
}

#if DEBUG
#include "notify_check.c"
#endif
