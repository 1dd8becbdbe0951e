/* The invariant walk over ready queues. Part of sched_ready.c in debug builds. */

/* The invariant of the queue of one priority: its bit, and its threads. */
static uint32_t sched_ready_check_queue(uint32_t cpu, uint32_t priority)
{
    uint32_t q = sched_ready_queue(cpu, priority);
    uint64_t bit = (sched_ready_map[cpu].word[priority / 64u] >> (priority % 64u)) & 1ul;
    uint32_t t = queue_peek(q);
    if ((t == NONE && bit == 1ul) || (t != NONE && bit == 0ul)) {
        return 1u;
    }
    if (t != NONE && priority >= sched_ready_map[cpu].best) {
        return 2u;
    }
    while (t != NONE) {
        uint32_t state = thread_state(t);
        uint32_t home = thread_cpu(t);
        uint32_t own = thread_priority(t);
        if (t < NUM_CPU || state != THREAD_READY || home != cpu || own != priority) {
            return 3u;
        }
        t = queue_next(t);
    }
    return 0u;
}

uint32_t sched_ready_check(uint32_t cpu)
{
    for (uint32_t priority = 0u; priority < NUM_PRIORITY; priority = priority + 1u) {
        uint32_t broken = sched_ready_check_queue(cpu, priority);
        if (broken != 0u) {
            return broken;
        }
    }
    for (uint32_t i = 0u; i < SCHED_READY_WORDS; i = i + 1u) {
        uint64_t bit = (sched_ready_map[cpu].summary >> i) & 1ul;
        if ((bit == 1ul && sched_ready_map[cpu].word[i] == 0ul) ||
            (bit == 0ul && sched_ready_map[cpu].word[i] != 0ul)) {
            return 4u;
        }
    }
    if (sched_ready_map[cpu].best != 0u) {
        uint32_t q = sched_ready_queue(cpu, sched_ready_map[cpu].best - 1u);
        uint32_t first = queue_peek(q);
        if (first == NONE) {
            return 5u;
        }
    }
    return 0u;
}
