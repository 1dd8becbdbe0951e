/* One ring of events for each CPU, written by it alone and read from outside while it goes on: an event is complete before it
 * is counted. `ashlar trace` finds both objects by their names. */
#include "arch.h"

#if TRACE
#define RING_EVENTS 65536u /* the last so many of each CPU are kept */

struct trace_event {
    uint64_t when;
    uint32_t what;
    uint32_t detail;
};

struct trace_count {
    uint64_t recorded; /* since boot; event n stands at place n % RING_EVENTS */
    uint64_t spare[7]; /* CPUs share no line */
};

static volatile struct trace_event trace_ring[NUM_CPU * RING_EVENTS];
static volatile struct trace_count trace_count[NUM_CPU];

void arch_trace(uint64_t when, uint32_t what, uint32_t detail)
{
    uint32_t cpu = arch_cpu();
    uint64_t recorded = trace_count[cpu].recorded;
    volatile struct trace_event *event = &trace_ring[cpu * RING_EVENTS + recorded % RING_EVENTS];

    event->when = when;
    event->what = what;
    event->detail = detail;
    trace_count[cpu].recorded = recorded + 1;
}
#endif
