/* The invariant walk over endpoints. Part of endpoint.c in debug builds. */

/* The number of threads that wait to send to e. */
static uint32_t endpoint_check_senders(uint32_t e)
{
    uint32_t length = 0u;
    uint32_t t = queue_peek(QUEUE_ENDPOINT_SEND_BASE + e);
    for (uint32_t i = 0u; i < NUM_THREAD && t != NONE; i = i + 1u) {
        length = length + 1u;
        t = queue_next(t);
    }
    return length;
}

/* The invariant of e's waiting threads: the number of senders is right, the longest waiting receiver stands in the
 * endpoint itself, marked if others wait, and senders and receivers do not wait at once. */
static uint32_t endpoint_check_queues(uint32_t e)
{
    uint32_t senders = endpoint_check_senders(e);
    uint32_t behind = queue_peek(QUEUE_ENDPOINT_RECV_BASE + e);
    uint32_t receiver = endpoint[e].receiver & ~ENDPOINT_MORE;
    if ((endpoint[e].busy & ~ENDPOINT_CLOSED) != senders) {
        return 9u;
    }
    if (endpoint[e].receiver == NONE) {
        if (behind != NONE) {
            return 10u;
        }
        return 0u;
    }
    uint32_t mark = 0u;
    if (behind != NONE) {
        mark = ENDPOINT_MORE;
    }
    if (receiver >= NUM_THREAD || endpoint[e].receiver != (receiver | mark)) {
        return 12u;
    }
    uint32_t kind = thread_wait_kind(receiver);
    uint32_t object = thread_wait_object(receiver);
    if (senders != 0u || kind != WAIT_ENDPOINT_RECV || object != e) {
        return 11u;
    }
    return 0u;
}

uint32_t endpoint_check(void)
{
    for (uint32_t t = 0u; t < NUM_THREAD; t = t + 1u) {
        uint32_t kind = thread_wait_kind(t);
        uint32_t e = thread_wait_object(t);
        uint32_t caller = endpoint_thread[t].caller;
        if (caller != NONE) {
            uint32_t c = caller & ~ENDPOINT_FAULT;
            if (c >= NUM_THREAD) {
                return 1u;
            }
            uint32_t mark = 0u;
            if (endpoint_thread[c].kind == SENDER_FAULT) {
                mark = ENDPOINT_FAULT;
            }
            if (caller != (c | mark)) {
                return 13u;
            }
            uint32_t caller_kind = thread_wait_kind(c);
            uint32_t caller_object = thread_wait_object(c);
            if (caller_kind != WAIT_REPLY || caller_object != endpoint_thread[t].through) {
                return 2u;
            }
            if (endpoint_thread[c].server != t) {
                return 3u;
            }
        }
        if (kind == WAIT_REPLY) {
            uint32_t server = endpoint_thread[t].server;
            if (server >= NUM_THREAD) {
                return 4u;
            }
            if ((endpoint_thread[server].caller & ~ENDPOINT_FAULT) != t) {
                return 5u;
            }
        }
        if (kind == WAIT_ENDPOINT_SEND) {
            uint32_t q = queue_of(t);
            if (q != QUEUE_ENDPOINT_SEND_BASE + e || endpoint[e].busy >= ENDPOINT_CLOSED) {
                return 6u;
            }
        }
        if (kind == WAIT_ENDPOINT_RECV) {
            uint32_t q = queue_of(t);
            uint32_t p = thread_process(t);
            if (endpoint[e].owner != p || endpoint_thread[t].through != e || endpoint_thread[t].caller != NONE) {
                return 7u;
            }
            if ((endpoint[e].receiver & ~ENDPOINT_MORE) != t && q != QUEUE_ENDPOINT_RECV_BASE + e) {
                return 8u;
            }
        }
    }
    for (uint32_t e = 0u; e < NUM_ENDPOINT; e = e + 1u) {
        uint32_t broken = endpoint_check_queues(e);
        if (broken != 0u) {
            return broken;
        }
    }
    return 0u;
}
