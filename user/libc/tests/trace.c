/* Reading a ring of the trace: in order, from the oldest that stands, with what was lost; and beside a writer that overtakes. */
#include "../trace_ring.c"

#include <pthread.h>
#include <string.h>

#include "check.h"

#define STRESS_EVENTS 20000000u

static struct {
    _Alignas(4096) volatile uint64_t count[TRACE_RINGS / 8];
    volatile struct trace_event ring[2 * TRACE_RING_EVENTS];
} trace;

/* As the kernel does it: the event is complete before it is counted. The detail says which event it is. */
static void record(uint32_t cpu)
{
    volatile uint64_t *count = &trace.count[cpu * TRACE_COUNT_BYTES / 8];
    uint64_t recorded = *count;
    volatile struct trace_event *event = &trace.ring[cpu * TRACE_RING_EVENTS + recorded % TRACE_RING_EVENTS];

    event->when = 10 * recorded;
    event->what = TRACE_WAKE;
    event->detail = (uint32_t)recorded;
    *count = recorded + 1;
}

static void take(struct trace_reader *reader, uint64_t number)
{
    struct trace_event event;

    CHECK(trace_next(reader, &event) == 1);
    CHECK(event.when == 10 * number && event.what == TRACE_WAKE && event.detail == number);
}

static void in_order(void)
{
    struct trace_reader first, second;
    struct trace_event event;

    trace_open_at(&first, &trace, 0);
    trace_open_at(&second, &trace, 1);
    CHECK(trace_next(&first, &event) == 0);
    record(1);
    record(1);
    CHECK(trace_next(&first, &event) == 0);
    take(&second, 0);
    record(1);
    take(&second, 1);
    take(&second, 2);
    CHECK(trace_next(&second, &event) == 0);
    CHECK(first.lost == 0 && second.lost == 0);
}

/* The place of the next event may be half written: it does not count as whole. */
static void lost(void)
{
    struct trace_reader early, late;

    trace_open_at(&early, &trace, 0);
    for (uint32_t i = 0; i < TRACE_RING_EVENTS + 5; i++) {
        record(0);
    }
    trace_open_at(&late, &trace, 0);
    take(&late, 6);
    CHECK(late.lost == 0);
    take(&early, 6);
    take(&early, 7);
    CHECK(early.lost == 6);
    for (uint32_t i = 0; i < TRACE_RING_EVENTS; i++) {
        record(0);
    }
    take(&early, TRACE_RING_EVENTS + 6);
    CHECK(early.lost == 6 + TRACE_RING_EVENTS - 2);
}

static void *write_fast(void *nothing)
{
    for (uint32_t i = 0; i < STRESS_EVENTS; i++) {
        record(1);
    }
    return nothing;
}

/* What is read is never a mixture, and what is read and lost is all that was recorded. */
static void beside_a_writer(void)
{
    struct trace_reader reader;
    struct trace_event event;
    pthread_t writer;
    uint64_t last = 0;

    memset((void *)&trace, 0, sizeof trace);
    trace_open_at(&reader, &trace, 1);
    CHECK(pthread_create(&writer, 0, write_fast, 0) == 0);
    while (last + 1 < STRESS_EVENTS) {
        uint64_t expected = reader.next;
        if (trace_next(&reader, &event) != 0) {
            last = event.detail;
            CHECK(event.when == 10 * last && last >= expected && reader.next == last + 1);
        }
    }
    pthread_join(writer, 0);
}

int main(void)
{
    in_order();
    lost();
    beside_a_writer();
    return 0;
}
