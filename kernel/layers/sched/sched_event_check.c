/* The invariant walk over events. Part of sched_event.c in debug builds. */

uint32_t sched_event_check(uint32_t cpu)
{
    uint32_t end = sched_cpu_events(cpu);
    uint64_t alarm = sched_cpu_alarm(cpu);
    uint64_t first = sched_event_first(cpu);
    if (end < SCHED_HEAP_ROOT || end > SCHED_HEAP_ROOT + SCHED_NUM_EVENT) {
        return 11u;
    }
    if (alarm > first) {
        return 12u;
    }
    for (uint32_t place = SCHED_HEAP_ROOT; place < end; place = place + 1u) {
        uint32_t event = sched_heap[cpu * SCHED_HEAP_PLACES + place].event;
        if (event >= SCHED_NUM_EVENT) {
            return 13u;
        }
        uint32_t t = event % NUM_THREAD;
        uint32_t home = thread_cpu(t);
        if (sched_event[event].place != place || home != cpu) {
            return 14u;
        }
        uint64_t when = sched_heap_when(cpu, place);
        uint32_t parent = sched_heap_parent(place);
        uint64_t before = sched_heap_when(cpu, parent);
        if (place > SCHED_HEAP_ROOT && before > when) {
            return 15u;
        }
    }
    for (uint32_t place = end; place < SCHED_HEAP_PLACES; place = place + 1u) {
        uint64_t when = sched_heap_when(cpu, place);
        if (when != TIMER_NEVER) {
            return 16u;
        }
    }
    return 0u;
}
