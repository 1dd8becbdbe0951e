/* Events to come: a heap per CPU, earliest first, of the timeouts of its threads and the releases of those that wait for
 * their next period. A place has four children, side by side, so an operation visits few places: one path between leaf
 * and root, however many events there are. Invariant: no event is before its parent; place is an event's index in the
 * heap; a free place has no time, so that children are compared without asking how many there are. */
#include "arch.h"
#include "sched.h"
#include "sched_cpu.h"
#include "sched_parts.h"
#include "timer.h"
#include "thread.h"

#define SCHED_NUM_EVENT (2u * NUM_THREAD)

/* The root's place; the children of place i are 4 * (i - 2) to 4 * (i - 2) + 3, so four that belong together are
 * aligned. */
#define SCHED_HEAP_ROOT 3u

/* Most steps between a leaf and the root. The loops over a path count up to it, so that the timing analysis finds their
 * bounds. */
#if 2u * NUM_THREAD <= 1u + 4u + 16u + 64u + 256u
#define SCHED_HEAP_STEPS 4u
#else
#define SCHED_HEAP_STEPS 5u
#endif

_Static_assert(SCHED_NUM_EVENT <= 1u + 4u + 16u + 64u + 256u + 1024u,
               "SCHED_NUM_EVENT events are more than SCHED_HEAP_STEPS allow");

/* Touched by the CPU only. */
struct sched_place {
    uint64_t when;
    uint32_t event;
    uint32_t spare;
};

/* Where an event is in the heap. A cancelled one stays there until its time comes or it is set anew, so that cancelling is
 * one store, whatever the heap holds. */
struct sched_event {
    uint32_t place;     /* 0: it is not in the heap */
    uint32_t cancelled; /* 1: as if it were not set */
};

/* Places of one CPU, rounded up so that each CPU's begin on a cache line. */
#define SCHED_HEAP_PLACES ((SCHED_HEAP_ROOT + SCHED_NUM_EVENT + 3u) / 4u * 4u)

/* The last place that has room for children. */
#define SCHED_HEAP_LAST_PARENT (SCHED_HEAP_PLACES / 4u + 1u)

/* Places of all CPUs. */
#define SCHED_HEAP_ALL (NUM_CPU * SCHED_HEAP_PLACES)

static struct sched_place sched_heap[SCHED_HEAP_ALL];
static struct sched_event sched_event[SCHED_NUM_EVENT];

void sched_event_init(void)
{
    for (uint32_t cpu = 0u; cpu < NUM_CPU; cpu = cpu + 1u) {
        sched_cpu_set_events(cpu, SCHED_HEAP_ROOT);
    }
    for (uint32_t i = 0u; i < SCHED_HEAP_ALL; i = i + 1u) {
        sched_heap[i].when = TIMER_NEVER;
    }
    for (uint32_t e = 0u; e < SCHED_NUM_EVENT; e = e + 1u) {
        sched_event[e].place = 0u;
        sched_event[e].cancelled = 0u;
    }
}

static void sched_heap_put(uint32_t cpu, uint32_t place, uint32_t event, uint64_t when)
{
    sched_heap[cpu * SCHED_HEAP_PLACES + place].when = when;
    sched_heap[cpu * SCHED_HEAP_PLACES + place].event = event;
    sched_event[event].place = place;
}

static uint64_t sched_heap_when(uint32_t cpu, uint32_t place)
{
    return sched_heap[cpu * SCHED_HEAP_PLACES + place].when;
}

static uint32_t sched_heap_parent(uint32_t place)
{
    return place / 4u + 2u;
}

/* Puts the event into a free place or above it. */
static void sched_heap_up(uint32_t cpu, uint32_t from, uint32_t event, uint64_t when)
{
    uint32_t place = from;
    for (uint32_t i = 0u; i < SCHED_HEAP_STEPS && place > SCHED_HEAP_ROOT; i = i + 1u) {
        uint32_t parent = sched_heap_parent(place);
        uint64_t before = sched_heap_when(cpu, parent);
        if (before <= when) {
            break;
        }
        sched_heap_put(cpu, place, sched_heap[cpu * SCHED_HEAP_PLACES + parent].event, before);
        place = parent;
    }
    sched_heap_put(cpu, place, event, when);
}

/* Puts the event into a free place or below it. The four children of a place are read one after the other, from one cache
 * line. */
static void sched_heap_down(uint32_t cpu, uint32_t from, uint32_t event, uint64_t when)
{
    uint32_t place = from;
    for (uint32_t i = 0u; i < SCHED_HEAP_STEPS && place <= SCHED_HEAP_LAST_PARENT; i = i + 1u) {
        uint32_t best = 4u * (place - 2u);
        uint64_t child = (uint64_t)(cpu * SCHED_HEAP_PLACES + best);
        uint64_t earliest = sched_heap[child].when;
        uint32_t moved = sched_heap[child].event;
        uint64_t second = sched_heap[child + 1ul].when;
        uint64_t third = sched_heap[child + 2ul].when;
        uint64_t fourth = sched_heap[child + 3ul].when;
        if (second < earliest) {
            best = best + 1u;
            earliest = second;
            moved = sched_heap[child + 1ul].event;
        }
        if (third < earliest) {
            best = 4u * (place - 2u) + 2u;
            earliest = third;
            moved = sched_heap[child + 2ul].event;
        }
        if (fourth < earliest) {
            best = 4u * (place - 2u) + 3u;
            earliest = fourth;
            moved = sched_heap[child + 3ul].event;
        }
        if (when <= earliest) {
            break;
        }
        sched_heap_put(cpu, place, moved, earliest);
        place = best;
    }
    sched_heap_put(cpu, place, event, when);
}

void sched_event_remove(uint32_t cpu, uint32_t event)
{
    uint32_t place = sched_event[event].place;
    if (place == 0u) {
        return;
    }
    uint32_t end = sched_cpu_events(cpu);
    uint32_t last = end - 1u;
    sched_cpu_set_events(cpu, last);
    sched_event[event].place = 0u;
    if (place == last) {
        sched_heap[cpu * SCHED_HEAP_PLACES + last].when = TIMER_NEVER;
        return;
    }
    /* The last event takes the free place, or one above or below it. */
    uint32_t moved = sched_heap[cpu * SCHED_HEAP_PLACES + last].event;
    uint64_t when = sched_heap_when(cpu, last);
    sched_heap[cpu * SCHED_HEAP_PLACES + last].when = TIMER_NEVER;
    uint64_t before = 0ul;
    if (place > SCHED_HEAP_ROOT) {
        uint32_t parent = sched_heap_parent(place);
        before = sched_heap_when(cpu, parent);
    }
    if (when < before) {
        sched_heap_up(cpu, place, moved, when);
    } else {
        sched_heap_down(cpu, place, moved, when);
    }
}

void sched_event_add(uint32_t cpu, uint32_t event, uint64_t when)
{
    uint32_t place = sched_cpu_events(cpu);
    sched_cpu_set_events(cpu, place + 1u);
    sched_heap_up(cpu, place, event, when);
    sched_alarm_want(cpu, when);
}

void sched_event_cancel(uint32_t event)
{
    sched_event[event].cancelled = 1u;
}

void sched_event_set(uint32_t cpu, uint32_t event, uint64_t when)
{
    uint32_t place = sched_event[event].place;
    uint64_t before = TIMER_NEVER;
    sched_event[event].cancelled = 0u;
    if (place == 0u) {
        place = sched_cpu_events(cpu);
        sched_cpu_set_events(cpu, place + 1u);
    } else {
        before = sched_heap_when(cpu, place);
    }
    if (when <= before) {
        sched_heap_up(cpu, place, event, when);
    } else {
        sched_heap_down(cpu, place, event, when);
    }
    sched_alarm_want(cpu, when);
}

uint64_t sched_event_when(uint32_t event)
{
    uint32_t place = sched_event[event].place;
    if (place == 0u || sched_event[event].cancelled == 1u) {
        return TIMER_NEVER;
    }
    uint32_t t = event % NUM_THREAD;
    uint32_t cpu = thread_cpu(t);
    uint64_t when = sched_heap_when(cpu, place);
    return when;
}

uint64_t sched_event_first(uint32_t cpu)
{
    uint32_t end = sched_cpu_events(cpu);
    if (end == SCHED_HEAP_ROOT) {
        return TIMER_NEVER;
    }
    uint64_t when = sched_heap_when(cpu, SCHED_HEAP_ROOT);
    return when;
}

uint32_t sched_event_take(uint32_t cpu, uint64_t now)
{
    uint64_t first = sched_event_first(cpu);
    if (first > now) {
        return NONE;
    }
    uint32_t event = sched_heap[cpu * SCHED_HEAP_PLACES + SCHED_HEAP_ROOT].event;
    sched_event_remove(cpu, event);
    if (sched_event[event].cancelled == 1u) {
        return NONE;
    }
    return event;
}

#if DEBUG
#include "sched_event_check.c"
#endif
