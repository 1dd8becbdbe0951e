/* Time and one alarm per CPU. */
#include "timer.h"

#include "arch.h"
#include "config.h"

/* What each CPU's alarm is set to, TIMER_NEVER if stopped. Entry c belongs to CPU c. */
struct timer_alarm {
    uint64_t deadline;
};

static struct timer_alarm timer_alarm[NUM_CPU];

void timer_init(void)
{
    for (uint32_t cpu = 0u; cpu < NUM_CPU; cpu = cpu + 1u) {
        timer_alarm[cpu].deadline = TIMER_NEVER;
    }
}

uint64_t timer_now(void)
{
    uint64_t now = arch_clock_ns();
    return now;
}

void timer_arm(uint64_t deadline)
{
    uint32_t cpu = arch_cpu();
    timer_alarm[cpu].deadline = deadline;
    arch_timer_arm(deadline);
}

void timer_stop(void)
{
    uint32_t cpu = arch_cpu();
    timer_alarm[cpu].deadline = TIMER_NEVER;
    arch_timer_stop();
}

uint64_t timer_armed(void)
{
    uint32_t cpu = arch_cpu();
    return timer_alarm[cpu].deadline;
}
