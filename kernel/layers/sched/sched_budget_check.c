/* The invariant walk over reservations. Part of sched_budget.c in debug builds. */

static uint32_t sched_budget_check_thread(uint32_t cpu, uint32_t t)
{
    uint32_t spends = sched_reservation[t].spends;
    uint32_t state = thread_state(t);
    uint32_t q = queue_of(t);
    uint64_t release = sched_event_when(SCHED_RELEASE_BASE + t);
    if (sched_reservation[t].left > sched_reservation[t].budget) {
        return 21u;
    }
    if (spends != NONE && (spends >= NUM_THREAD || sched_reservation[spends].period == 0ul)) {
        return 22u;
    }
    if (sched_reservation[t].period != 0ul && spends != t) {
        return 23u;
    }
    if (state != THREAD_PARKED && release != TIMER_NEVER) {
        return 24u;
    }
    if (state == THREAD_PARKED && (q != QUEUE_PARKED_BASE + cpu || release == TIMER_NEVER || spends == NONE)) {
        return 25u;
    }
    return 0u;
}

/* The invariant of the alarm of this CPU: while the running thread spends a reservation, and no reschedule is pending, it comes
 * before the reservation is spent. */
static uint32_t sched_budget_check_alarm(uint32_t cpu)
{
    uint32_t charged = sched_cpu_charged(cpu);
    uint32_t need_resched = arch_need_resched();
    if (charged == NONE || need_resched == 1u) {
        return 0u;
    }
    uint32_t current = thread_current();
    uint64_t since = sched_cpu_since(cpu);
    uint64_t rest = sched_time_left(current, charged);
    uint64_t alarm = sched_cpu_alarm(cpu);
    if (alarm > since + rest) {
        return 27u;
    }
    return 0u;
}

uint32_t sched_budget_check(uint32_t cpu)
{
    for (uint32_t t = NUM_CPU; t < NUM_THREAD; t = t + 1u) {
        uint32_t home = thread_cpu(t);
        if (home == cpu) {
            uint32_t broken = sched_budget_check_thread(cpu, t);
            if (broken != 0u) {
                return broken;
            }
        }
    }
    uint32_t charged = sched_cpu_charged(cpu);
    if (charged != NONE && charged >= NUM_THREAD) {
        return 26u;
    }
    uint32_t self = arch_cpu();
    if (cpu == self) {
        uint32_t broken = sched_budget_check_alarm(cpu);
        return broken;
    }
    return 0u;
}
