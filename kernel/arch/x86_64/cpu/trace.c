/* One ring of events for each CPU, written by it alone and read from outside while it goes on: an event is complete before it
 * is counted. abi.h says how it lies in memory. `ashlar trace` finds the object by its name; processes have it mapped. */
#include "cpu/trace.h"

#include "abi.h"
#include "arch.h"
#include "memory/kernel_map.h"

#if TRACE
struct trace_event {
    uint64_t when;
    uint32_t what;
    uint32_t detail;
};

struct trace_count {
    uint64_t recorded;
    uint64_t spare[TRACE_COUNT_BYTES / 8 - 1]; /* CPUs share no line */
};

/* Whole pages, because processes see it: nothing else may lie in them. */
struct trace_memory {
    struct trace_count count[TRACE_RINGS / TRACE_COUNT_BYTES];
    struct trace_event ring[NUM_CPU * TRACE_RING_EVENTS];
};

static volatile struct trace_memory trace_memory __attribute__((aligned(4096)));

_Static_assert(sizeof(struct trace_event) == TRACE_EVENT_BYTES, "as abi.h says");
_Static_assert(TRACE_RING_BYTES == TRACE_RING_EVENTS * TRACE_EVENT_BYTES, "as abi.h says");
_Static_assert(NUM_CPU <= TRACE_RINGS / TRACE_COUNT_BYTES, "each CPU has a count");
_Static_assert(sizeof trace_memory % 4096 == 0, "nothing else lies in the last page");

void arch_trace(uint64_t when, uint32_t what, uint32_t detail)
{
    uint32_t cpu = arch_cpu();
    uint64_t recorded = trace_memory.count[cpu].recorded;
    volatile struct trace_event *event = &trace_memory.ring[cpu * TRACE_RING_EVENTS + recorded % TRACE_RING_EVENTS];

    event->when = when;
    event->what = what;
    event->detail = detail;
    trace_memory.count[cpu].recorded = recorded + 1;
}

uint32_t trace_first_frame(void)
{
    return (uint32_t)(kernel_physical((const void *)&trace_memory) / 4096);
}
#else
uint32_t trace_first_frame(void)
{
    return NONE;
}
#endif
