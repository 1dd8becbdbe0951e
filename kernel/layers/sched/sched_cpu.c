/* What the scheduler keeps of each CPU besides its queues, in one cache line: the way of an interrupt to its handler reads and
 * writes most of it. Each value has one file that sets it and says what it means. */
#include "sched_cpu.h"

#include "config.h"
#include "timer.h"

/* One cache line each, touched by its CPU only; 4,096 bytes apart, kernel.ld says why. */
struct sched_cpu {
    uint64_t slice_end;
    uint64_t since;
    uint64_t alarm;
    uint32_t running;
    uint32_t slice_over;
    uint32_t kept;
    uint32_t charged;
    uint32_t events;
    uint32_t spare[1013];
};

static struct sched_cpu sched_cpu[NUM_CPU];

void sched_cpu_init(void)
{
    for (uint32_t cpu = 0u; cpu < NUM_CPU; cpu = cpu + 1u) {
        sched_cpu[cpu].slice_end = TIMER_NEVER;
        sched_cpu[cpu].since = 0ul;
        sched_cpu[cpu].alarm = TIMER_NEVER;
        sched_cpu[cpu].running = 0u;
        sched_cpu[cpu].slice_over = 0u;
        sched_cpu[cpu].kept = NONE;
        sched_cpu[cpu].charged = NONE;
        sched_cpu[cpu].events = 0u;
    }
}

uint64_t sched_cpu_slice_end(uint32_t cpu)
{
    return sched_cpu[cpu].slice_end;
}

void sched_cpu_set_slice_end(uint32_t cpu, uint64_t when)
{
    sched_cpu[cpu].slice_end = when;
}

uint64_t sched_cpu_since(uint32_t cpu)
{
    return sched_cpu[cpu].since;
}

void sched_cpu_set_since(uint32_t cpu, uint64_t when)
{
    sched_cpu[cpu].since = when;
}

uint64_t sched_cpu_alarm(uint32_t cpu)
{
    return sched_cpu[cpu].alarm;
}

void sched_cpu_set_alarm(uint32_t cpu, uint64_t when)
{
    sched_cpu[cpu].alarm = when;
}

uint32_t sched_cpu_running(uint32_t cpu)
{
    return sched_cpu[cpu].running;
}

void sched_cpu_set_running(uint32_t cpu, uint32_t level)
{
    sched_cpu[cpu].running = level;
}

uint32_t sched_cpu_slice_over(uint32_t cpu)
{
    return sched_cpu[cpu].slice_over;
}

void sched_cpu_set_slice_over(uint32_t cpu, uint32_t over)
{
    sched_cpu[cpu].slice_over = over;
}

uint32_t sched_cpu_kept(uint32_t cpu)
{
    return sched_cpu[cpu].kept;
}

void sched_cpu_set_kept(uint32_t cpu, uint32_t t)
{
    sched_cpu[cpu].kept = t;
}

uint32_t sched_cpu_charged(uint32_t cpu)
{
    return sched_cpu[cpu].charged;
}

void sched_cpu_set_charged(uint32_t cpu, uint32_t r)
{
    sched_cpu[cpu].charged = r;
}

uint32_t sched_cpu_events(uint32_t cpu)
{
    return sched_cpu[cpu].events;
}

void sched_cpu_set_events(uint32_t cpu, uint32_t end)
{
    sched_cpu[cpu].events = end;
}
