/* Events to come: a binary heap per CPU, earliest first, of the timeouts of its threads and the releases of those that
 * wait for their next period. An operation visits one path between leaf and root, however many events there are.
 * Invariant: no event is before its parent; place is an event's index in the heap. */
#include "arch.h"
#include "intc.h"
#include "sched.h"
#include "sched_parts.h"
#include "timer.h"
#include "thread.h"

#define SCHED_NUM_EVENT (2u * NUM_THREAD)

/* Levels of a full heap. The loops over a path count up to it, so that the timing analysis finds their bounds. */
#define SCHED_HEAP_LEVELS 9u

_Static_assert(SCHED_NUM_EVENT >> SCHED_HEAP_LEVELS == 0u,
               "a heap of SCHED_NUM_EVENT events has SCHED_HEAP_LEVELS levels at most");

/* Touched by the CPU only. Places are counted from 1: the children of place i are 2i and 2i + 1, side by side. */
struct sched_place {
    uint64_t when;
    uint32_t event;
    uint32_t spare;
};

/* Places of one CPU, rounded up so that each CPU's begin on a cache line. */
#define SCHED_HEAP_PLACES ((SCHED_NUM_EVENT / 4u + 1u) * 4u)

static struct sched_place sched_heap[NUM_CPU * SCHED_HEAP_PLACES];
static uint32_t sched_heap_count[NUM_CPU * 16u]; /* one cache line each */
static uint32_t sched_event_place[SCHED_NUM_EVENT]; /* 0: the event is not set */

void sched_event_init(void)
{
    for (uint32_t cpu = 0u; cpu < NUM_CPU; cpu = cpu + 1u) {
        sched_heap_count[cpu * 16u] = 0u;
    }
    for (uint32_t e = 0u; e < SCHED_NUM_EVENT; e = e + 1u) {
        sched_event_place[e] = 0u;
    }
}

static void sched_heap_put(uint32_t cpu, uint32_t place, uint32_t event, uint64_t when)
{
    sched_heap[cpu * SCHED_HEAP_PLACES + place].when = when;
    sched_heap[cpu * SCHED_HEAP_PLACES + place].event = event;
    sched_event_place[event] = place;
}

/* Puts the event into a free place or above it. */
static void sched_heap_up(uint32_t cpu, uint32_t from, uint32_t event, uint64_t when)
{
    uint32_t place = from;
    for (uint32_t i = 0u; i < SCHED_HEAP_LEVELS && place > 1u; i = i + 1u) {
        uint32_t parent = cpu * SCHED_HEAP_PLACES + place / 2u;
        if (sched_heap[parent].when <= when) {
            break;
        }
        sched_heap_put(cpu, place, sched_heap[parent].event, sched_heap[parent].when);
        place = place / 2u;
    }
    sched_heap_put(cpu, place, event, when);
}

/* The place of the earlier child of place; 0 if it has none. */
static uint32_t sched_heap_child(uint32_t cpu, uint32_t place)
{
    uint32_t left = 2u * place;
    uint32_t right = left + 1u;
    uint32_t base = cpu * SCHED_HEAP_PLACES;
    if (left > sched_heap_count[cpu * 16u]) {
        return 0u;
    }
    if (right <= sched_heap_count[cpu * 16u] && sched_heap[base + right].when < sched_heap[base + left].when) {
        return right;
    }
    return left;
}

/* Puts the event into a free place or below it. */
static void sched_heap_down(uint32_t cpu, uint32_t from, uint32_t event, uint64_t when)
{
    uint32_t place = from;
    uint32_t child = sched_heap_child(cpu, place);
    for (uint32_t i = 0u; i < SCHED_HEAP_LEVELS && child != 0u; i = i + 1u) {
        uint32_t lower = cpu * SCHED_HEAP_PLACES + child;
        if (when <= sched_heap[lower].when) {
            break;
        }
        sched_heap_put(cpu, place, sched_heap[lower].event, sched_heap[lower].when);
        place = child;
        child = sched_heap_child(cpu, place);
    }
    sched_heap_put(cpu, place, event, when);
}

void sched_event_remove(uint32_t cpu, uint32_t event)
{
    uint32_t place = sched_event_place[event];
    if (place == 0u) {
        return;
    }
    uint32_t count = sched_heap_count[cpu * 16u];
    uint32_t last = cpu * SCHED_HEAP_PLACES + count;
    uint32_t moved = sched_heap[last].event;
    uint64_t when = sched_heap[last].when;
    sched_heap_count[cpu * 16u] = count - 1u;
    sched_event_place[event] = 0u;
    if (moved == event) {
        return;
    }
    /* The last event takes the free place, or one above or below it. */
    uint32_t parent = cpu * SCHED_HEAP_PLACES + place / 2u;
    if (place > 1u && when < sched_heap[parent].when) {
        sched_heap_up(cpu, place, moved, when);
    } else {
        sched_heap_down(cpu, place, moved, when);
    }
}

void sched_event_add(uint32_t cpu, uint32_t event, uint64_t when)
{
    uint32_t place = sched_heap_count[cpu * 16u] + 1u;
    sched_heap_count[cpu * 16u] = place;
    sched_heap_up(cpu, place, event, when);
    sched_alarm_want(cpu, when);
}

uint64_t sched_event_when(uint32_t event)
{
    uint32_t place = sched_event_place[event];
    if (place == 0u) {
        return TIMER_NEVER;
    }
    uint32_t t = event % NUM_THREAD;
    uint32_t cpu = thread_cpu(t);
    return sched_heap[cpu * SCHED_HEAP_PLACES + place].when;
}

uint64_t sched_event_first(uint32_t cpu)
{
    if (sched_heap_count[cpu * 16u] == 0u) {
        return TIMER_NEVER;
    }
    return sched_heap[cpu * SCHED_HEAP_PLACES + 1u].when;
}

uint32_t sched_event_take(uint32_t cpu, uint64_t now)
{
    uint64_t first = sched_event_first(cpu);
    if (first > now) {
        return NONE;
    }
    uint32_t event = sched_heap[cpu * SCHED_HEAP_PLACES + 1u].event;
    sched_event_remove(cpu, event);
    return event;
}

#if DEBUG
#include "sched_event_check.c"
#endif
