/* Deadlines: a binary heap of threads per CPU, earliest first. Every operation visits at most one path from leaf to
 * root. Invariant: no thread's deadline is before its parent's; place is a thread's index in the heap. */
#include "arch.h"
#include "sched.h"
#include "sched_parts.h"
#include "timer.h"
#include "thread.h"

/* Levels of a heap of NUM_THREAD threads. The loops over a path count up to it, so that the timing analysis finds
 * their bounds. */
#define SCHED_HEAP_LEVELS 8u

_Static_assert(NUM_THREAD >> SCHED_HEAP_LEVELS == 0u,
               "a heap of NUM_THREAD threads has SCHED_HEAP_LEVELS levels at most");

/* Touched by its CPU only. Places are counted from 1: the children of place i are 2i and 2i + 1. */
struct sched_heap {
    uint32_t count;
    uint32_t thread[NUM_THREAD + 1u];
};

/* Touched by the thread's CPU only. */
struct sched_deadline {
    uint64_t when;
    uint32_t place; /* 0: no deadline */
    uint32_t spare;
};

static struct sched_heap sched_heap[NUM_CPU];
static struct sched_deadline sched_deadline[NUM_THREAD];

void sched_deadline_init(void)
{
    for (uint32_t cpu = 0u; cpu < NUM_CPU; cpu = cpu + 1u) {
        sched_heap[cpu].count = 0u;
    }
    for (uint32_t t = 0u; t < NUM_THREAD; t = t + 1u) {
        sched_deadline[t].when = TIMER_NEVER;
        sched_deadline[t].place = 0u;
    }
}

static void sched_heap_put(uint32_t cpu, uint32_t place, uint32_t t)
{
    sched_heap[cpu].thread[place] = t;
    sched_deadline[t].place = place;
}

/* Finds t's place upwards from a free place. */
static void sched_heap_up(uint32_t cpu, uint32_t from, uint32_t t)
{
    uint32_t place = from;
    for (uint32_t i = 0u; i < SCHED_HEAP_LEVELS && place > 1u; i = i + 1u) {
        uint32_t parent = sched_heap[cpu].thread[place / 2u];
        if (sched_deadline[parent].when <= sched_deadline[t].when) {
            break;
        }
        sched_heap_put(cpu, place, parent);
        place = place / 2u;
    }
    sched_heap_put(cpu, place, t);
}

/* The place of the earlier child of place; 0 if it has none. */
static uint32_t sched_heap_child(uint32_t cpu, uint32_t place)
{
    uint32_t left = 2u * place;
    uint32_t right = left + 1u;
    if (left > sched_heap[cpu].count) {
        return 0u;
    }
    if (right > sched_heap[cpu].count) {
        return left;
    }
    uint32_t left_thread = sched_heap[cpu].thread[left];
    uint32_t right_thread = sched_heap[cpu].thread[right];
    if (sched_deadline[right_thread].when < sched_deadline[left_thread].when) {
        return right;
    }
    return left;
}

/* Finds t's place downwards from a free place. */
static void sched_heap_down(uint32_t cpu, uint32_t from, uint32_t t)
{
    uint32_t place = from;
    uint32_t child = sched_heap_child(cpu, place);
    for (uint32_t i = 0u; i < SCHED_HEAP_LEVELS && child != 0u; i = i + 1u) {
        uint32_t lower = sched_heap[cpu].thread[child];
        if (sched_deadline[t].when <= sched_deadline[lower].when) {
            break;
        }
        sched_heap_put(cpu, place, lower);
        place = child;
        child = sched_heap_child(cpu, place);
    }
    sched_heap_put(cpu, place, t);
}

void sched_deadline_remove(uint32_t cpu, uint32_t t)
{
    uint32_t place = sched_deadline[t].place;
    if (place == 0u) {
        return;
    }
    uint32_t count = sched_heap[cpu].count;
    uint32_t moved = sched_heap[cpu].thread[count];
    sched_heap[cpu].count = count - 1u;
    sched_deadline[t].place = 0u;
    sched_deadline[t].when = TIMER_NEVER;
    if (moved == t) {
        return;
    }
    /* The last thread takes the free place and moves up or down from there. */
    sched_heap_up(cpu, place, moved);
    if (sched_deadline[moved].place == place) {
        sched_heap_down(cpu, place, moved);
    }
}

void sched_set_deadline(uint32_t t, uint64_t deadline_ns)
{
    uint32_t cpu = arch_cpu();
    sched_deadline_remove(cpu, t);
    sched_deadline[t].when = deadline_ns;
    sched_heap[cpu].count = sched_heap[cpu].count + 1u;
    sched_heap_up(cpu, sched_heap[cpu].count, t);
    sched_alarm_want(cpu, deadline_ns);
}

void sched_clear_deadline(uint32_t t)
{
    uint32_t cpu = arch_cpu();
    sched_deadline_remove(cpu, t);
}

uint64_t sched_deadline_first(uint32_t cpu)
{
    if (sched_heap[cpu].count == 0u) {
        return TIMER_NEVER;
    }
    uint32_t first = sched_heap[cpu].thread[1];
    return sched_deadline[first].when;
}

uint32_t sched_take_expired(void)
{
    uint32_t cpu = arch_cpu();
    uint64_t first = sched_deadline_first(cpu);
    if (first == TIMER_NEVER) {
        return NONE;
    }
    uint64_t now = timer_now();
    if (first > now) {
        sched_alarm_want(cpu, first);
        return NONE;
    }
    uint32_t t = sched_heap[cpu].thread[1];
    sched_deadline_remove(cpu, t);
    return t;
}

#if DEBUG
#include "sched_deadline_check.c"
#endif
