/* The exit of a kernel entry and the timer's interrupt, for tests of layers below trap. */
#ifndef ASHLAR_TESTING_RESCHEDULE_H
#define ASHLAR_TESTING_RESCHEDULE_H

#include "arch.h"
#include "sched.h"

static inline void test_reschedule(void)
{
    if (arch_need_resched() == 0 || sched_hand_over() == 1) {
        return;
    }
    uint32_t next = sched_woken();
    if (next != NONE) {
        sched_hand_over_to(next);
    } else {
        sched_decide();
    }
}

/* As trap serves the timer's interrupt. Returns the thread whose deadline has come, or NONE. */
static inline uint32_t test_timer_interrupt(void)
{
    uint32_t event = sched_timer_interrupt();
    if (event != NONE && event >= NUM_THREAD) {
        sched_release(event);
        return NONE;
    }
    return event;
}

#endif
