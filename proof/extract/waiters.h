/* What can be seen of the threads that wait in condition variables. */
#ifndef ASHLAR_WAITERS_H
#define ASHLAR_WAITERS_H

#include "cv.h"
#include "threads.h"

/* Whether t has blocked and was not woken since. No thread waits for anything else. */
static inline uint32_t is_blocked(uint32_t t)
{
    uint32_t waits = thread_wait_kind(t) == WAIT_CV;

    return waits == (thread_state(t) == THREAD_BLOCKED) ? waits : NONE;
}

/* The invariant of all variables; the first waiter of this one or NONE; the waiters by their numbers, with whether each is blocked. */
static inline void see_variable(uint32_t cv)
{
    answer(cv_check());
    answer(cv_first(cv));
    for (uint32_t t = NUM_CPU; t < NUM_THREAD; t++) {
        if (cv_of(t) == cv) {
            answer(t);
            answer(is_blocked(t));
        }
    }
}

#endif
