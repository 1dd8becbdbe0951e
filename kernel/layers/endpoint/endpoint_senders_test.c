/* The order of waiting senders against a list that is searched from its beginning. */
#include "arch.h"
#include "endpoint.h"
#include "endpoint_parts.h"
#include "hosted.h"
#include "queue.h"
#include "test.h"
#include "thread.h"

#define E 3u
#define FIRST NUM_CPU
#define THREADS 40u

static uint32_t model[THREADS]; /* threads, in the order in which they are received from */
static uint32_t length;

static uint32_t rank(uint32_t t, uint32_t flags)
{
    return flags == ENDPOINT_FIFO ? 0 : thread_base_priority(t);
}

static void insert(uint32_t t, uint32_t flags)
{
    uint32_t at = 0;
    while (at < length && rank(model[at], flags) >= rank(t, flags)) {
        at++;
    }
    for (uint32_t i = length; i > at; i--) {
        model[i] = model[i - 1];
    }
    model[at] = t;
    length++;
    endpoint_senders_insert(E, t);
}

static void take_out(uint32_t at)
{
    endpoint_senders_remove(E, model[at]);
    length--;
    for (uint32_t i = at; i < length; i++) {
        model[i] = model[i + 1];
    }
}

static void compare(void)
{
    uint32_t t = queue_peek(QUEUE_ENDPOINT_SEND_BASE + E);
    for (uint32_t i = 0; i < length; i++) {
        CHECK_EQUAL(t, model[i]);
        t = queue_next(t);
    }
    CHECK_EQUAL(t, NONE);
}

/* Priorities of four words of the bitmap, each at several threads. */
static void random_order(uint32_t flags)
{
    static const uint32_t priorities[] = {0, 1, 5, 63, 64, 127, 130, 191, 192, NUM_PRIORITY - 1};

    hosted_reset(1);
    queue_init();
    thread_init();
    endpoint_init();
    endpoint_define(E, 0, flags);
    for (uint32_t i = 0; i < THREADS; i++) {
        thread_define(FIRST + i, 0, 0, priorities[test_random(10)]);
    }
    length = 0;
    for (uint64_t i = test_operations(20000); i > 0; i--) {
        uint32_t t = FIRST + test_random(THREADS);
        if (queue_of(t) == NONE) {
            insert(t, flags);
        } else {
            take_out(test_random(2) ? 0 : test_random(length));
        }
        compare();
    }
}

int main(void)
{
    test_random_start();
    random_order(0);
    random_order(ENDPOINT_FIFO);
    return TEST_END();
}
