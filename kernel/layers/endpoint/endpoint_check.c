/* The invariant walk over endpoints. Part of endpoint.c in debug builds. */

/* Length of a queue of threads. */
static uint32_t endpoint_check_length(uint32_t q)
{
    uint32_t length = 0u;
    uint32_t t = queue_peek(q);
    for (uint32_t i = 0u; i < NUM_THREAD && t != NONE; i = i + 1u) {
        length = length + 1u;
        t = queue_next(t);
    }
    return length;
}

/* The invariant of e's waiting threads: the numbers are right, the longest waiting receiver stands in the endpoint
 * itself, and senders and receivers do not wait at once. */
static uint32_t endpoint_check_queues(uint32_t e)
{
    uint32_t senders = endpoint_check_length(QUEUE_ENDPOINT_SEND_BASE + e);
    uint32_t receivers = endpoint_check_length(QUEUE_ENDPOINT_RECV_BASE + e);
    if (endpoint[e].senders != senders || endpoint[e].receivers != receivers) {
        return 9u;
    }
    if (endpoint[e].receiver == NONE) {
        if (receivers != 0u) {
            return 10u;
        }
        return 0u;
    }
    uint32_t kind = thread_wait_kind(endpoint[e].receiver);
    uint32_t object = thread_wait_object(endpoint[e].receiver);
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
        uint32_t c = endpoint_thread[t].caller;
        if (c != NONE) {
            if (c >= NUM_THREAD) {
                return 1u;
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
            if (endpoint_thread[server].caller != t) {
                return 5u;
            }
        }
        if (kind == WAIT_ENDPOINT_SEND) {
            uint32_t q = queue_of(t);
            if (q != QUEUE_ENDPOINT_SEND_BASE + e || endpoint[e].open == 0u) {
                return 6u;
            }
        }
        if (kind == WAIT_ENDPOINT_RECV) {
            uint32_t q = queue_of(t);
            uint32_t p = thread_process(t);
            if (endpoint[e].owner != p || endpoint_thread[t].through != e || endpoint_thread[t].caller != NONE) {
                return 7u;
            }
            if (endpoint[e].receiver != t && q != QUEUE_ENDPOINT_RECV_BASE + e) {
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
