/* The invariant walk over the scheduler. Part of sched.c in debug builds. */

/* The invariant of the running thread of a CPU. */
static uint32_t sched_check_running(uint32_t cpu)
{
    uint32_t current = NONE;
    for (uint32_t t = 0u; t < NUM_THREAD; t = t + 1u) {
        uint32_t home = thread_cpu(t);
        uint32_t state = thread_state(t);
        if (home == cpu && state == THREAD_RUNNING) {
            if (current != NONE) {
                return 31u;
            }
            current = t;
        }
    }
    if (current == NONE) {
        return 32u;
    }
    uint32_t queue = queue_of(current);
    if (queue != NONE) {
        return 33u;
    }
    uint32_t priority = thread_priority(current);
    uint32_t running = sched_cpu_running(cpu);
    if (current >= NUM_CPU && running != priority + 1u) {
        return 34u;
    }
    return 0u;
}

/* The invariant of the kept thread: it is in no queue, still marked blocked, and a reschedule is pending. */
static uint32_t sched_check_kept(uint32_t cpu)
{
    uint32_t next = sched_cpu_kept(cpu);
    if (next == NONE) {
        return 0u;
    }
    uint32_t state = thread_state(next);
    uint32_t queue = queue_of(next);
    uint32_t home = thread_cpu(next);
    uint32_t priority = thread_priority(next);
    uint32_t best = sched_ready_best(cpu);
    if (state != THREAD_BLOCKED || queue != NONE || home != cpu || priority + 1u < best) {
        return 35u;
    }
    return 0u;
}

uint32_t sched_check(void)
{
    uint32_t count = arch_cpu_count();
    for (uint32_t cpu = 0u; cpu < count; cpu = cpu + 1u) {
        uint32_t broken = sched_ready_check(cpu);
        if (broken == 0u) {
            broken = sched_event_check(cpu);
        }
        if (broken == 0u) {
            broken = sched_budget_check(cpu);
        }
        if (broken == 0u) {
            broken = sched_check_running(cpu);
        }
        if (broken == 0u) {
            broken = sched_check_kept(cpu);
        }
        if (broken != 0u) {
            return broken;
        }
    }
    return 0u;
}
