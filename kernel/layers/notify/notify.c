/* Notifications. */
#include "notify.h"

#include "abi.h"
#include "arch.h"
#include "intc.h"
#include "queue.h"
#include "sched.h"
#include "spinlock.h"
#include "thread.h"
#include "timer.h"
#include "uctx.h"

/* One cache line each. Guarded by LOCK_NOTIFY_BASE + n; owner is constant after start-up. */
struct notification {
    uint64_t bits;
    uint32_t owner;
    uint32_t watcher; /* CPU that runs a guest until a bit is set, or NONE */
    uint32_t open;    /* 1: its owner lives, from creation until teardown. Else no bit is set */
    uint32_t spare;
    uint64_t spare_words[5];
};

/* Touched by the thread's CPU only. */
struct notify_thread {
    uint32_t n; /* notification it waits for, from before it blocks until it runs again; or NONE */
};

static struct notification notification[NUM_NOTIFICATION];
static struct notify_thread notify_thread[NUM_THREAD];

void notify_init(void)
{
    for (uint32_t n = 0u; n < NUM_NOTIFICATION; n = n + 1u) {
        notification[n].bits = 0u;
        notification[n].owner = NONE;
        notification[n].watcher = NONE;
        notification[n].open = 0u;
    }
    for (uint32_t t = 0u; t < NUM_THREAD; t = t + 1u) {
        notify_thread[t].n = NONE;
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

/* Stores the outcome of t's wait; the caller then makes t ready. Requires: t is in no queue; the lock of its
 * notification is held. */
static void notify_end(uint32_t t, uint32_t status)
{
    uctx_set(t, UCTX_RAX, (uint64_t)status);
    thread_end_wait(t);
}

/* Ends t's wait with this outcome. Requires: t is in no queue; the lock of its notification is held. */
static void notify_finish(uint32_t t, uint32_t status)
{
    notify_end(t, status);
    sched_ready(t);
}

/* Stores bits for which no thread waits, if the owner lives. Requires: the lock of n is held. */
static void notify_keep(uint32_t n, uint64_t all)
{
    uint32_t cpu = arch_cpu();
    if (notification[n].open == 0u) {
        return;
    }
    notification[n].bits = all;
    if (notification[n].watcher != NONE && notification[n].watcher != cpu) {
        intc_send(notification[n].watcher, VECTOR_RESCHEDULE);
    }
}

void notify_signal(uint32_t n, uint64_t bits)
{
    spinlock_acquire(LOCK_NOTIFY_BASE + n);
    uint64_t all = notification[n].bits | bits;
    uint32_t t = queue_dequeue(QUEUE_NOTIFICATION_BASE + n);
    if (t != NONE) {
        notification[n].bits = 0u;
        uctx_set(t, UCTX_RDI, all);
        notify_finish(t, STATUS_OK);
    } else {
        notify_keep(n, all);
    }
    spinlock_release(LOCK_NOTIFY_BASE + n);
}

/* As notify_signal, but a waiter of this CPU is not made ready: it is returned, and the caller switches to it or
 * makes it ready before it leaves the kernel. No other thread can run on this CPU meanwhile, and only this CPU
 * changes its threads. Returns NONE if there is no such waiter. */
static uint32_t notify_signal_here(uint32_t n, uint64_t bits)
{
    uint32_t woken = NONE;
    uint32_t cpu = arch_cpu();
    spinlock_acquire(LOCK_NOTIFY_BASE + n);
    uint64_t all = notification[n].bits | bits;
    uint32_t t = queue_dequeue(QUEUE_NOTIFICATION_BASE + n);
    if (t != NONE) {
        notification[n].bits = 0u;
        uctx_set(t, UCTX_RDI, all);
        notify_end(t, STATUS_OK);
        uint32_t home = thread_cpu(t);
        if (home == cpu) {
            woken = t;
        } else {
            sched_ready(t);
        }
    } else {
        notify_keep(n, all);
    }
    spinlock_release(LOCK_NOTIFY_BASE + n);
    return woken;
}

/* Waits as notify_wait. `woken` is NONE or a thread that notify_signal_here returned: if the current thread blocks,
 * the CPU switches to woken, else woken is made ready. */
static void notify_wait_and_run(uint32_t n, uint64_t deadline, uint32_t woken)
{
    uint32_t current = thread_current();
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
        if (woken != NONE) {
            sched_ready(woken);
        }
        return;
    }
    notify_thread[current].n = n;
    thread_set_wait(current, WAIT_NOTIFICATION, n);
    queue_enqueue(QUEUE_NOTIFICATION_BASE + n, current);
    if (deadline != NOTIFY_FOREVER) {
        sched_set_deadline(current, deadline);
    }
    sched_prepare_block();
    spinlock_release(LOCK_NOTIFY_BASE + n);
    if (woken != NONE) {
        sched_switch_to(woken);
    } else {
        sched_block();
    }
    notify_thread[current].n = NONE;
    /* By the thread itself: the wait may have been ended on another CPU, and deadlines belong to this CPU. */
    if (deadline != NOTIFY_FOREVER) {
        sched_clear_deadline(current);
    }
}

void notify_wait(uint32_t n, uint64_t deadline)
{
    notify_wait_and_run(n, deadline, NONE);
}

void notify_signal_wait(uint32_t signalled, uint64_t bits, uint32_t n, uint64_t deadline)
{
    uint32_t woken = notify_signal_here(signalled, bits);
    notify_wait_and_run(n, deadline, woken);
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

/* Ends t's wait with this outcome unless another CPU has just ended it. Returns 1 if t blocks here, else 0. */
static uint32_t notify_end_wait(uint32_t t, uint32_t status)
{
    uint32_t n = notify_thread[t].n;
    if (n == NONE) {
        return 0u;
    }
    spinlock_acquire(LOCK_NOTIFY_BASE + n);
    uint32_t kind = thread_wait_kind(t);
    if (kind == WAIT_NOTIFICATION) {
        queue_remove(t);
        notify_finish(t, status);
    }
    spinlock_release(LOCK_NOTIFY_BASE + n);
    return 1u;
}

uint32_t notify_cancel(uint32_t t)
{
    uint32_t waits = notify_end_wait(t, ERR_CANCELLED);
    return waits;
}

uint32_t notify_timeout(uint32_t t)
{
    uint32_t waits = notify_end_wait(t, ERR_TIMEOUT);
    return waits;
}

uint32_t notify_check(void)
{
    for (uint32_t n = 0u; n < NUM_NOTIFICATION; n = n + 1u) {
        uint32_t t = queue_peek(QUEUE_NOTIFICATION_BASE + n);
        if (t != NONE && notification[n].bits != 0u) {
            return 1u;
        }
        if (t != NONE && notification[n].owner == NONE) {
            return 2u;
        }
        if (notification[n].open == 0u && notification[n].bits != 0u) {
            return 4u;
        }
    }
    for (uint32_t t = 0u; t < NUM_THREAD; t = t + 1u) {
        uint32_t kind = thread_wait_kind(t);
        if (kind == WAIT_NOTIFICATION) {
            uint32_t n = thread_wait_object(t);
            uint32_t q = queue_of(t);
            if (q != QUEUE_NOTIFICATION_BASE + n) {
                return 3u;
            }
        }
    }
    return 0u;
}
