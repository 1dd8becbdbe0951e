/* The invariant walk over notifications. Part of notify.c in debug builds. */

/* The invariant of n: if a thread waits, no bit is set and the owner exists; the one that has waited longest stands in
 * the notification itself, and the number of the others is right. */
static uint32_t notify_check_one(uint32_t n)
{
    uint32_t waiters = 0u;
    uint32_t t = queue_peek(QUEUE_NOTIFICATION_BASE + n);
    for (uint32_t i = 0u; i < NUM_THREAD && t != NONE; i = i + 1u) {
        waiters = waiters + 1u;
        t = queue_next(t);
    }
    if (notification[n].open == 0u && notification[n].bits != 0u) {
        return 4u;
    }
    if (waiters != notification[n].waiters) {
        return 5u;
    }
    if (notification[n].waiter == NONE) {
        if (waiters != 0u) {
            return 6u;
        }
        return 0u;
    }
    if (notification[n].bits != 0u) {
        return 1u;
    }
    if (notification[n].owner == NONE) {
        return 2u;
    }
    uint32_t kind = thread_wait_kind(notification[n].waiter);
    uint32_t object = thread_wait_object(notification[n].waiter);
    if (kind != WAIT_NOTIFICATION || object != LOCK_NOTIFY_BASE + n) {
        return 7u;
    }
    return 0u;
}

uint32_t notify_check(void)
{
    for (uint32_t n = 0u; n < NUM_NOTIFICATION; n = n + 1u) {
        uint32_t broken = notify_check_one(n);
        if (broken != 0u) {
            return broken;
        }
    }
    for (uint32_t t = 0u; t < NUM_THREAD; t = t + 1u) {
        uint32_t kind = thread_wait_kind(t);
        if (kind == WAIT_NOTIFICATION) {
            uint32_t object = thread_wait_object(t);
            uint32_t n = object - LOCK_NOTIFY_BASE;
            uint32_t q = queue_of(t);
            if (notification[n].waiter != t && q != QUEUE_NOTIFICATION_BASE + n) {
                return 3u;
            }
        }
    }
    return 0u;
}
