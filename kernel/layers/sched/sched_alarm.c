/* The alarm of each CPU: never later than the next event, but possibly earlier, because cancelling an event leaves
 * the alarm as it is. Programming the timer is slow, so it is done only for an event before all others. */
#include "sched.h"
#include "sched_cpu.h"
#include "sched_parts.h"
#include "timer.h"

void sched_alarm_want(uint32_t cpu, uint64_t when)
{
    uint64_t at = sched_cpu_alarm(cpu);
    if (when < at) {
        sched_cpu_set_alarm(cpu, when);
        timer_arm(when);
    }
}

void sched_alarm_gone(uint32_t cpu)
{
    sched_cpu_set_alarm(cpu, TIMER_NEVER);
}
