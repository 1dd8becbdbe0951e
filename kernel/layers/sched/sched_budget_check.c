/* The invariant walk over budgets. Part of sched_budget.c in debug builds. */

/* The invariant of the server of a limited process: refills in order of time, adding up to the budget. */
static uint32_t sched_budget_check_server(uint32_t cpu, uint32_t p)
{
    uint32_t s = cpu * NUM_PROCESS + p;
    uint64_t sum = 0ul;
    uint64_t before = 0ul;
    if (sched_server[s].count == 0u || sched_server[s].count > SCHED_REFILLS ||
        sched_server[s].first >= SCHED_REFILLS) {
        return 21u;
    }
    for (uint32_t i = 0u; i < sched_server[s].count; i = i + 1u) {
        uint32_t at = (sched_server[s].first + i) % SCHED_REFILLS;
        if (sched_refill[s * SCHED_REFILLS + at].when < before) {
            return 22u;
        }
        before = sched_refill[s * SCHED_REFILLS + at].when;
        sum = sum + sched_refill[s * SCHED_REFILLS + at].amount;
    }
    if (sum != sched_limit[p].budget) {
        return 23u;
    }
    return 0u;
}

/* The invariant of the threads parked for p. */
static uint32_t sched_budget_check_parked(uint32_t cpu, uint32_t p)
{
    uint32_t s = cpu * NUM_PROCESS + p;
    uint64_t bit = (sched_account[cpu].parked >> p) & 1ul;
    uint64_t alarm = sched_alarm_at(cpu);
    uint32_t t = queue_peek(QUEUE_PARKED_BASE + s);
    if ((t == NONE && bit == 1ul) || (t != NONE && bit == 0ul)) {
        return 24u;
    }
    if (t != NONE && alarm > sched_refill[s * SCHED_REFILLS + sched_server[s].first].when) {
        return 25u;
    }
    while (t != NONE) {
        uint32_t state = thread_state(t);
        uint32_t process = thread_process(t);
        if (state != THREAD_PARKED || process != p) {
            return 26u;
        }
        t = queue_next(t);
    }
    return 0u;
}

uint32_t sched_budget_check(uint32_t cpu)
{
    for (uint32_t p = 0u; p < NUM_PROCESS; p = p + 1u) {
        if (sched_limit[p].period != 0ul) {
            uint32_t broken = sched_budget_check_server(cpu, p);
            if (broken != 0u) {
                return broken;
            }
        }
        uint32_t parked = sched_budget_check_parked(cpu, p);
        if (parked != 0u) {
            return parked;
        }
    }
    return 0u;
}
