/* Condition variables: see cv.h for why a waiter leaves its queue by itself. */
#include "cv.h"

#include "sched.h"
#include "thread.h"

/* One cache line each: neighbours belong to different locks. Guarded by the lock of the object that uses the
 * variable. */
struct cv_queue {
    uint32_t first;
    uint32_t last;
    uint32_t spare[14];
};

/* Guarded like the queue the thread is in; cv is NONE while it is in none. */
struct cv_waiter {
    uint32_t cv;
    uint32_t next;
    uint32_t previous;
    uint32_t blocked;   /* 1 from cv_prepare_wait until it is woken */
    uint32_t cancelled; /* 1: the wait was cancelled */
    uint32_t spare[3];
};

static struct cv_queue cv_queue[NUM_CV];
static struct cv_waiter cv_waiter[NUM_THREAD];

void cv_init(void)
{
    for (uint32_t cv = 0u; cv < NUM_CV; cv = cv + 1u) {
        cv_queue[cv].first = NONE;
        cv_queue[cv].last = NONE;
    }
    for (uint32_t t = 0u; t < NUM_THREAD; t = t + 1u) {
        cv_waiter[t].cv = NONE;
        cv_waiter[t].next = NONE;
        cv_waiter[t].previous = NONE;
        cv_waiter[t].blocked = 0u;
        cv_waiter[t].cancelled = 0u;
    }
}

void cv_join(uint32_t cv)
{
    uint32_t current = thread_current();
    uint32_t last = cv_queue[cv].last;
    cv_waiter[current].cv = cv;
    cv_waiter[current].next = NONE;
    cv_waiter[current].previous = last;
    cv_waiter[current].blocked = 0u;
    cv_waiter[current].cancelled = 0u;
    if (last == NONE) {
        cv_queue[cv].first = current;
    } else {
        cv_waiter[last].next = current;
    }
    cv_queue[cv].last = current;
}

uint32_t cv_first(uint32_t cv)
{
    return cv_queue[cv].first;
}

void cv_prepare_wait(uint32_t cv)
{
    uint32_t current = thread_current();
    cv_waiter[current].blocked = 1u;
    thread_set_wait(current, WAIT_CV, cv);
    sched_prepare_block(current);
}

/* Makes t ready if it is blocked; it keeps its place in the queue. Requires: t is in a cv queue. */
static void cv_wake(uint32_t t)
{
    if (cv_waiter[t].blocked == 1u) {
        cv_waiter[t].blocked = 0u;
        thread_end_wait(t);
        sched_ready(t);
    }
}

void cv_wake_first(uint32_t cv)
{
    uint32_t first = cv_queue[cv].first;
    if (first != NONE) {
        cv_wake(first);
    }
}

void cv_leave(void)
{
    uint32_t current = thread_current();
    uint32_t cv = cv_waiter[current].cv;
    uint32_t next = cv_waiter[current].next;
    uint32_t previous = cv_waiter[current].previous;
    if (previous == NONE) {
        cv_queue[cv].first = next;
    } else {
        cv_waiter[previous].next = next;
    }
    if (next == NONE) {
        cv_queue[cv].last = previous;
    } else {
        cv_waiter[next].previous = previous;
    }
    cv_waiter[current].cv = NONE;
    cv_waiter[current].next = NONE;
    cv_waiter[current].previous = NONE;
    cv_waiter[current].cancelled = 0u;
}

uint32_t cv_of(uint32_t t)
{
    return cv_waiter[t].cv;
}

void cv_cancel(uint32_t t)
{
    cv_waiter[t].cancelled = 1u;
    cv_wake(t);
}

uint32_t cv_cancelled(void)
{
    uint32_t current = thread_current();
    return cv_waiter[current].cancelled;
}

#if DEBUG
#include "cv_check.c"
#endif
