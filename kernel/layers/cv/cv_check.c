/* The invariant walk over condition variables. Part of cv.c in debug builds. */

uint32_t cv_check(void)
{
    uint32_t queued = 0u;
    for (uint32_t cv = 0u; cv < NUM_CV; cv = cv + 1u) {
        uint32_t previous = NONE;
        uint32_t t = cv_queue[cv].first;
        while (t != NONE) {
            if (t >= NUM_THREAD || queued >= NUM_THREAD) {
                return 1u;
            }
            if (cv_waiter[t].cv != cv || cv_waiter[t].previous != previous) {
                return 2u;
            }
            uint32_t kind = thread_wait_kind(t);
            if (cv_waiter[t].blocked == 1u && kind != WAIT_CV) {
                return 3u;
            }
            queued = queued + 1u;
            previous = t;
            t = cv_waiter[t].next;
        }
        if (cv_queue[cv].last != previous) {
            return 4u;
        }
    }
    for (uint32_t t = 0u; t < NUM_THREAD; t = t + 1u) {
        if (cv_waiter[t].cv != NONE) {
            if (queued == 0u) {
                return 5u;
            }
            queued = queued - 1u;
        }
    }
    if (queued != 0u) {
        return 6u;
    }
    return 0u;
}
