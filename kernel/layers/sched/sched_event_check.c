/* The invariant walk over events. Part of sched_event.c in debug builds. */

uint32_t sched_event_check(uint32_t cpu)
{
    uint32_t count = sched_heap_count[cpu * 16u];
    uint32_t base = cpu * SCHED_HEAP_PLACES;
    uint64_t alarm = sched_alarm_at(cpu);
    uint64_t first = sched_event_first(cpu);
    if (count > SCHED_NUM_EVENT) {
        return 11u;
    }
    if (alarm > first) {
        return 12u;
    }
    for (uint32_t place = 1u; place <= count; place = place + 1u) {
        uint32_t event = sched_heap[base + place].event;
        if (event >= SCHED_NUM_EVENT) {
            return 13u;
        }
        uint32_t t = event % NUM_THREAD;
        uint32_t home = thread_cpu(t);
        if (sched_event_place[event] != place || home != cpu) {
            return 14u;
        }
        if (place > 1u && sched_heap[base + place / 2u].when > sched_heap[base + place].when) {
            return 15u;
        }
    }
    return 0u;
}
