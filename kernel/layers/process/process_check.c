/* The invariant walk over processes. Part of process.c in debug builds. */

/* The invariant of one process. */
static uint32_t process_check_one(uint32_t p)
{
    uint32_t alive = 0u;
    uint32_t used = container_usage(p);
    uint32_t quota = container_quota(p);
    for (uint32_t i = 0u; i < process[p].num_threads; i = i + 1u) {
        uint32_t t = process[p].first_thread + i;
        alive = alive + process_thread[t].alive;
    }
    if (process[p].state > PROCESS_DYING) {
        return 1u;
    }
    if (process[p].alive != alive) {
        return 2u;
    }
    if (process[p].state == PROCESS_EMPTY && (used != 0u || quota != 0u)) {
        return 3u;
    }
    if (process[p].state == PROCESS_LOADING && alive != 0u) {
        return 4u;
    }
    if (process[p].state == PROCESS_RUNNING && alive == 0u) {
        return 5u;
    }
    if (process[p].state != PROCESS_EMPTY && process[p].parent != NONE) {
        if (process[process[p].parent].state == PROCESS_EMPTY) {
            return 6u;
        }
    }
    return 0u;
}

uint32_t process_check(void)
{
    for (uint32_t p = 0u; p < NUM_PROCESS; p = p + 1u) {
        uint32_t broken = process_check_one(p);
        if (broken != 0u) {
            return broken;
        }
    }
    return 0u;
}
