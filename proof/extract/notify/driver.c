/* The C side of the comparison for notifications. */
#include "notify.h"

#include "../threads.h"
#include "abi.h"
#include "locks.h"
#include "uctx.h"

/* As in operations.ml. */
#define CPUS 3u
#define NOW_NS 1000u

static void start(const uint64_t *argument)
{
    (void)argument;
    start_threads(CPUS);
    hosted_clock_set(NOW_NS);
    notify_init();
    for (uint32_t n = 0; n < NUM_NOTIFICATION; n++) {
        notify_define(n, 0);
    }
}

/* ---- what can be seen ---- */

/* The CPUs that are interrupted, a bit each. */
static uint64_t interrupted(void)
{
    uint64_t set = 0;

    for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
        set |= (uint64_t)hosted_raised(cpu, VECTOR_RESCHEDULE) << cpu;
    }
    return set;
}

/* Whether t waits, and its saved registers. A thread that waits is blocked, and no other is. */
static void see_thread(uint32_t t)
{
    uint32_t waits = thread_wait_kind(t) == WAIT_NOTIFICATION;

    answer(waits == (thread_state(t) == THREAD_BLOCKED) ? waits : NONE);
    answer(uctx_get(t, UCTX_RAX));
    answer(uctx_get(t, UCTX_RDI));
}

/* The first waiter of n or NONE: it is the one that waits and is in no queue. */
static uint32_t first_waiter(uint32_t n)
{
    for (uint32_t i = 0; i < num_created; i++) {
        uint32_t t = created[i];
        if (thread_wait_kind(t) == WAIT_NOTIFICATION && thread_wait_object(t) == LOCK_NOTIFY_BASE + n &&
            queue_of(t) == NONE) {
            return t;
        }
    }
    return NONE;
}

/* Whether a bit is set, and the waiters in their order. */
static void see(uint32_t n)
{
    uint32_t first = first_waiter(n);

    answer(notify_pending(n));
    if (first != NONE) {
        answer(first);
    }
    for (uint32_t t = queue_peek(QUEUE_NOTIFICATION_BASE + n); t != NONE; t = queue_next(t)) {
        answer(t);
    }
}

static void see_woken(uint32_t t)
{
    if (t != NONE) {
        answer(t);
        see_thread(t);
    }
}

/* ---- operations ---- */

static void create(const uint64_t *argument)
{
    create_thread(A(0));
    see_thread(A(0));
}

static void notify_by_cpu(const uint64_t *argument)
{
    uint32_t first = first_waiter(A(1));

    hosted_set_cpu(A(0));
    notify_signal(A(1), argument[2]);
    answer(interrupted());
    settle();
    see_woken(first);
    see(A(1));
}

static void wait_for(const uint64_t *argument)
{
    run_thread(A(0));
    answer(notify_wait(A(1), argument[2]));
    settle();
    see_thread(A(0));
    see(A(1));
}

static void wait_until(const uint64_t *argument)
{
    run_thread(A(0));
    notify_wait_until(A(1), argument[2]);
    settle();
    see_thread(A(0));
    see(A(1));
}

static void signal_wait(const uint64_t *argument)
{
    uint32_t first = first_waiter(A(1));

    run_thread(A(0));
    answer(notify_signal_wait(A(1), argument[2], A(3)));
    answer(interrupted());
    settle();
    see_woken(first);
    see_thread(A(0));
    see(A(1));
    see(A(3));
}

static void poll(const uint64_t *argument)
{
    answer(notify_poll(A(0)));
    see(A(0));
}

static void look(const uint64_t *argument)
{
    see(A(0));
}

static void watch(const uint64_t *argument)
{
    hosted_set_cpu(A(0));
    answer(notify_watch(A(1)));
    see(A(1));
}

static void unwatch(const uint64_t *argument)
{
    notify_unwatch(A(0));
    see(A(0));
}

static void open_life(const uint64_t *argument)
{
    notify_open(A(0));
    see(A(0));
}

static void close_life(const uint64_t *argument)
{
    notify_close(A(0));
    see(A(0));
}

static void cancel(const uint64_t *argument)
{
    hosted_set_cpu(thread_cpu(A(0)));
    answer(notify_cancel(A(0)));
    settle();
    see_thread(A(0));
}

/* The caller makes a thread ready whose time is over. */
static void timeout(const uint64_t *argument)
{
    hosted_set_cpu(thread_cpu(A(0)));
    uint32_t ended = notify_timeout(A(0));
    answer(ended);
    if (ended == 1) {
        sched_ready(A(0));
    }
    settle();
    see_thread(A(0));
}

static const struct operation operations[] = {
    {"start", 0, start},
    {"create", 1, create},
    {"signal", 3, notify_by_cpu},
    {"wait", 3, wait_for},
    {"wait_until", 3, wait_until},
    {"signal_wait", 4, signal_wait},
    {"poll", 1, poll},
    {"look", 1, look},
    {"watch", 2, watch},
    {"unwatch", 1, unwatch},
    {"open", 1, open_life},
    {"close", 1, close_life},
    {"cancel", 1, cancel},
    {"timeout", 1, timeout},
};

int main(void)
{
    return DRIVE(operations);
}
