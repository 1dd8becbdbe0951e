/* Reading a ring that its CPU goes on writing. */
#include "abi.h"
#include "ashlar/trace.h"

/* The oldest event that stands whole in the ring when `recorded` have been: the one before may just be overwritten. */
static uint64_t oldest(uint64_t recorded)
{
    return recorded < TRACE_RING_EVENTS ? 0 : recorded + 1 - TRACE_RING_EVENTS;
}

void trace_open_at(struct trace_reader *reader, const void *trace, uint32_t cpu)
{
    const char *rings = (const char *)trace + TRACE_RINGS;

    reader->count = (const volatile uint64_t *)((const char *)trace + cpu * TRACE_COUNT_BYTES);
    reader->ring = (const volatile struct trace_event *)(rings + cpu * TRACE_RING_BYTES);
    reader->next = oldest(*reader->count);
    reader->lost = 0;
}

/* Passes over what was overwritten. */
static void skip_lost(struct trace_reader *reader, uint64_t recorded)
{
    uint64_t first = oldest(recorded);

    if (reader->next < first) {
        reader->lost += first - reader->next;
        reader->next = first;
    }
}

/* The processor reads in this order, and the compiler keeps it because all of it is volatile: an event that is counted is
 * complete, and one that the second look at the count does not reach was not overwritten meanwhile. */
int trace_next(struct trace_reader *reader, struct trace_event *event)
{
    for (;;) {
        uint64_t recorded = *reader->count;

        skip_lost(reader, recorded);
        if (reader->next >= recorded) {
            return 0;
        }
        const volatile struct trace_event *place = &reader->ring[reader->next % TRACE_RING_EVENTS];
        event->when = place->when;
        event->what = place->what;
        event->detail = place->detail;
        if (reader->next >= oldest(*reader->count)) {
            reader->next++;
            return 1;
        }
    }
}
