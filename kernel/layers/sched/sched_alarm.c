/* The alarm of each CPU: never later than the next event, but possibly earlier, because cancelling an event leaves
 * the alarm as it is. Programming the timer is slow, so it is done only for an event before all others. */
#include "sched.h"
#include "sched_parts.h"
#include "timer.h"

/* One cache line each, touched by its CPU only. */
struct sched_alarm {
    uint64_t at;
    uint64_t spare[7];
};

static struct sched_alarm sched_alarm[NUM_CPU];

void sched_alarm_init(void)
{
    for (uint32_t cpu = 0u; cpu < NUM_CPU; cpu = cpu + 1u) {
        sched_alarm[cpu].at = TIMER_NEVER;
    }
}

void sched_alarm_want(uint32_t cpu, uint64_t when)
{
    if (when < sched_alarm[cpu].at) {
        sched_alarm[cpu].at = when;
        timer_arm(when);
    }
}

void sched_alarm_gone(uint32_t cpu)
{
    sched_alarm[cpu].at = TIMER_NEVER;
}

uint64_t sched_alarm_at(uint32_t cpu)
{
    return sched_alarm[cpu].at;
}
