/* The invariant walk over deadlines. Part of sched_deadline.c in debug builds. */

uint32_t sched_deadline_check(uint32_t cpu)
{
    uint64_t alarm = sched_alarm_at(cpu);
    uint64_t first = sched_deadline_first(cpu);
    if (sched_heap[cpu].count > NUM_THREAD) {
        return 11u;
    }
    if (alarm > first) {
        return 12u;
    }
    for (uint32_t place = 1u; place <= sched_heap[cpu].count; place = place + 1u) {
        uint32_t t = sched_heap[cpu].thread[place];
        if (t >= NUM_THREAD) {
            return 13u;
        }
        uint32_t home = thread_cpu(t);
        if (sched_deadline[t].place != place || home != cpu) {
            return 14u;
        }
        if (place > 1u) {
            uint32_t parent = sched_heap[cpu].thread[place / 2u];
            if (sched_deadline[parent].when > sched_deadline[t].when) {
                return 15u;
            }
        }
    }
    return 0u;
}
