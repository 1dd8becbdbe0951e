/* The invariant walk over queues. Part of queue.c in debug builds. */

/* Walks queue q. Returns its length, or NONE if a link is wrong. */
static uint32_t queue_walk(uint32_t q)
{
    uint32_t previous = NONE;
    uint32_t t = queue[q].first;
    uint32_t length = 0u;
    while (t != NONE) {
        if (t >= NUM_THREAD || length >= NUM_THREAD) {
            return NONE;
        }
        if (queue_node[t].queue != q || queue_node[t].previous != previous) {
            return NONE;
        }
        length = length + 1u;
        previous = t;
        t = queue_node[t].next;
    }
    if (queue[q].last != previous) {
        return NONE;
    }
    return length;
}

uint32_t queue_check(void)
{
    uint32_t queued = 0u;
    for (uint32_t q = 0u; q < NUM_QUEUE; q = q + 1u) {
        uint32_t length = queue_walk(q);
        if (length == NONE) {
            return 1u;
        }
        queued = queued + length;
    }
    for (uint32_t t = 0u; t < NUM_THREAD; t = t + 1u) {
        if (queue_node[t].queue != NONE) {
            if (queued == 0u) {
                return 2u;
            }
            queued = queued - 1u;
        }
    }
    if (queued != 0u) {
        return 3u;
    }
    return 0u;
}
