/* The invariant walk over threads. Part of thread.c in debug builds. */

/* What must hold of one CPU that has started. */
static uint32_t thread_check_cpu(uint32_t cpu)
{
    uint32_t current = thread_cpu_state[cpu].current;
    uint32_t space = thread_cpu_state[cpu].space;
    if (current >= NUM_THREAD) {
        return 1u;
    }
    if (thread[current].cpu != cpu) {
        return 2u;
    }
    if (thread[current].space != NONE && thread[current].space != space) {
        return 3u;
    }
    if (space != NONE && space >= NUM_PROCESS) {
        return 4u;
    }
    return 0u;
}

uint32_t thread_check(void)
{
    uint32_t count = arch_cpu_count();
    for (uint32_t cpu = 0u; cpu < count; cpu = cpu + 1u) {
        uint32_t broken = thread_check_cpu(cpu);
        if (broken != 0u) {
            return broken;
        }
    }
    for (uint32_t t = 0u; t < NUM_THREAD; t = t + 1u) {
        if (thread[t].state > THREAD_EXITED) {
            return 5u;
        }
        if (thread[t].priority >= NUM_PRIORITY || thread[t].cpu >= NUM_CPU) {
            return 6u;
        }
        if (thread[t].space != NONE && thread[t].space != thread[t].process) {
            return 7u;
        }
    }
    return 0u;
}
