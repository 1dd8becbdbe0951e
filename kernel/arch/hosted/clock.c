/* The clock, set by the test or real, and an alarm per CPU. */
#include <time.h>

#include "arch.h"
#include "hosted.h"
#include "hosted_parts.h"

static uint64_t hand; /* ns, while set by the test */
static uint32_t is_real;
static uint64_t real_start; /* CLOCK_MONOTONIC - clock */
static uint64_t alarm_writes;
static struct {
    _Alignas(64) uint64_t at;
} alarms[NUM_CPU];

static uint64_t monotonic(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ul + (uint64_t)now.tv_nsec;
}

void hosted_clock_reset(void)
{
    hand = 0;
    is_real = 0;
    alarm_writes = 0;
    for (uint32_t cpu = 0; cpu < NUM_CPU; cpu++) {
        alarms[cpu].at = UINT64_MAX;
    }
}

uint32_t hosted_clock_by_hand(void)
{
    return !is_real;
}

uint64_t arch_clock_ns(void)
{
    if (is_real) {
        return monotonic() - real_start;
    }
    return __atomic_load_n(&hand, __ATOMIC_RELAXED);
}

void hosted_clock_set(uint64_t ns)
{
    is_real = 0;
    __atomic_store_n(&hand, ns, __ATOMIC_RELAXED);
}

void hosted_clock_advance(uint64_t ns)
{
    __atomic_fetch_add(&hand, ns, __ATOMIC_RELAXED);
}

void hosted_clock_real(void)
{
    real_start = monotonic() - hand;
    is_real = 1;
}

void arch_timer_arm(uint64_t deadline_ns)
{
    __atomic_store_n(&alarms[hosted_cpu].at, deadline_ns, __ATOMIC_RELAXED);
    __atomic_fetch_add(&alarm_writes, 1, __ATOMIC_RELAXED);
}

void arch_timer_stop(void)
{
    __atomic_store_n(&alarms[hosted_cpu].at, UINT64_MAX, __ATOMIC_RELAXED);
}

uint64_t hosted_alarm(uint32_t cpu)
{
    return __atomic_load_n(&alarms[cpu].at, __ATOMIC_RELAXED);
}

uint64_t hosted_alarm_writes(void)
{
    return __atomic_load_n(&alarm_writes, __ATOMIC_RELAXED);
}

uint32_t hosted_alarm_due(uint32_t cpu)
{
    uint64_t at = hosted_alarm(cpu);

    if (at == UINT64_MAX || at > arch_clock_ns()) {
        return 0;
    }
    __atomic_store_n(&alarms[cpu].at, UINT64_MAX, __ATOMIC_RELAXED);
    return 1;
}
