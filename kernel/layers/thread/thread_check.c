/* The invariant walk over threads. Part of thread.c in debug builds. */

/* The invariant of one CPU that has started. */
static uint32_t thread_check_cpu(uint32_t cpu)
{
    uint32_t current = arch_current_of(cpu);
    uint32_t root = arch_loaded_root_of(cpu);
    if (current >= NUM_THREAD) {
        return 1u;
    }
    if (thread[current].cpu != cpu) {
        return 2u;
    }
    if (thread[current].root != NONE && thread[current].root != root) {
        return 3u;
    }
    if (root != NONE && root >= NUM_FRAME) {
        return 4u;
    }
    return 0u;
}

/* A thread's page map is its process's, and exists. */
static uint32_t thread_check_root(uint32_t t)
{
    uint32_t process = thread[t].process;
    if (thread[t].root == NONE) {
        return 0u;
    }
    if (process >= NUM_PROCESS) {
        return 7u;
    }
    uint32_t root = pagemap_root_of(process);
    if (root != thread[t].root) {
        return 8u;
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
        uint32_t broken = thread_check_root(t);
        if (broken != 0u) {
            return broken;
        }
    }
    return 0u;
}
