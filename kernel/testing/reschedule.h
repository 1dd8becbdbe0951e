/* The exit of a kernel entry, for tests of layers below trap. */
#ifndef ASHLAR_TESTING_RESCHEDULE_H
#define ASHLAR_TESTING_RESCHEDULE_H

#include "arch.h"
#include "sched.h"

static inline void test_reschedule(void)
{
    if (arch_need_resched() == 1 && sched_hand_over() == 0) {
        sched_decide();
    }
}

#endif
