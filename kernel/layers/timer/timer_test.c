/* Each CPU has an alarm of its own, which can be moved and cancelled, and fires when due. */
#include "arch.h"
#include "hosted.h"
#include "test.h"
#include "timer.h"

int main(void)
{
    hosted_reset(2);
    hosted_clock_set(1000);
    timer_init();
    CHECK_EQUAL(timer_now(), 1000);
    CHECK_EQUAL(timer_armed(), TIMER_NEVER);

    timer_arm(5000);
    CHECK_EQUAL(timer_armed(), 5000);
    CHECK_EQUAL(hosted_alarm(0), 5000);
    hosted_set_cpu(1);
    CHECK_EQUAL(timer_armed(), TIMER_NEVER);
    timer_arm(7000);
    CHECK_EQUAL(hosted_alarm(0), 5000);
    CHECK_EQUAL(hosted_alarm(1), 7000);

    hosted_set_cpu(0);
    timer_arm(3000); /* replaces */
    CHECK_EQUAL(timer_armed(), 3000);
    CHECK_EQUAL(hosted_alarm(0), 3000);
    hosted_clock_set(2999);
    CHECK_EQUAL(arch_interrupt_poll(), NONE);
    hosted_clock_set(3000);
    CHECK_EQUAL(arch_interrupt_poll(), VECTOR_TIMER);

    hosted_set_cpu(1);
    timer_stop();
    CHECK_EQUAL(timer_armed(), TIMER_NEVER);
    hosted_clock_set(8000);
    CHECK_EQUAL(arch_interrupt_poll(), NONE);
    return TEST_END();
}
