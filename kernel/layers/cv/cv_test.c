/* Condition variables: order, waking in place, cancelling. Switches are only recorded, so this file plays every
 * thread. */
#include "arch.h"
#include "cv.h"
#include "hosted.h"
#include "reschedule.h"
#include "queue.h"
#include "sched.h"
#include "test.h"
#include "thread.h"
#include "timer.h"

#define FIRST NUM_CPU
#define NUM 6u
#define CV 3u

static void start(void)
{
    hosted_reset(1);
    hosted_simulate_switch(1);
    queue_init();
    thread_init();
    timer_init();
    sched_init();
    sched_init_cpu();
    cv_init();
    for (uint32_t i = 0; i < NUM; i++) {
        thread_define(FIRST + i, 0, 0, 100);
        thread_reset(FIRST + i, NONE);
        sched_ready(FIRST + i);
    }
    test_reschedule();
}

/* The current thread joins and waits; the next one runs. */
static uint32_t wait_on(uint32_t cv)
{
    uint32_t t = thread_current();

    cv_join(cv);
    cv_prepare_wait(cv);
    sched_block();
    return t;
}

static void waiters_are_served_in_order(void)
{
    start();
    CHECK_EQUAL(cv_first(CV), NONE);
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_EQUAL(wait_on(CV), FIRST + i);
    }
    CHECK_EQUAL(cv_check(), 0);
    CHECK_EQUAL(cv_first(CV), FIRST);
    /* A second wake-up has no effect, and the waiter keeps its place. */
    cv_wake_first(CV);
    cv_wake_first(CV);
    CHECK_EQUAL(cv_first(CV), FIRST);
    CHECK_EQUAL(thread_state(FIRST), THREAD_READY);
    CHECK_EQUAL(thread_state(FIRST + 1), THREAD_BLOCKED);
    /* No thread can overtake between wake-up and operation. */
    uint32_t late = thread_current();
    cv_join(CV);
    CHECK(cv_first(CV) != late);
    cv_leave();
    CHECK_EQUAL(cv_of(late), NONE);
    sched_prepare_block(thread_current());
    sched_block(); /* late */
    sched_prepare_block(thread_current());
    sched_block(); /* the last one that was ready from the beginning */
    CHECK_EQUAL(thread_current(), FIRST);
    cv_leave();
    CHECK_EQUAL(cv_first(CV), FIRST + 1);
    CHECK_EQUAL(thread_state(FIRST + 1), THREAD_BLOCKED);
    CHECK_EQUAL(cv_check(), 0);
    CHECK_EQUAL(queue_check(), 0);
}

static void cancelling_wakes_from_the_middle(void)
{
    start();
    for (uint32_t i = 0; i < 3; i++) {
        wait_on(CV);
    }
    cv_cancel(FIRST + 1);
    CHECK_EQUAL(thread_state(FIRST + 1), THREAD_READY);
    CHECK_EQUAL(cv_cancelled(), 0);
    for (uint32_t i = 3; i < NUM; i++) {
        CHECK_EQUAL(thread_current(), FIRST + i);
        sched_prepare_block(thread_current());
        sched_block();
    }
    CHECK_EQUAL(thread_current(), FIRST + 1);
    CHECK_EQUAL(cv_cancelled(), 1);
    cv_leave();
    CHECK_EQUAL(cv_cancelled(), 0);
    CHECK_EQUAL(cv_of(FIRST + 1), NONE);
    CHECK_EQUAL(cv_first(CV), FIRST);
    CHECK_EQUAL(cv_check(), 0);
}

int main(void)
{
    waiters_are_served_in_order();
    cancelling_wakes_from_the_middle();
    return TEST_END();
}
