/* The ready queues of a CPU: one per priority, and a bitmap of those that are not empty: 4 words of 64 bits and a
 * summary of 4 bits. Invariant: bit i of the bitmap is set exactly if queue i has a thread; best is the highest set
 * bit plus 1; a thread in a ready queue is marked ready, one in a queue of parked threads parked, and one taken out
 * to run is marked running. */
#include "arch.h"
#include "queue.h"
#include "sched.h"
#include "sched_parts.h"
#include "thread.h"

#define SCHED_READY_WORDS (NUM_PRIORITY / 64u)

/* One cache line each, touched by its CPU only; 4,096 bytes apart, kernel.ld says why. */
struct sched_ready {
    uint64_t word[SCHED_READY_WORDS];
    uint64_t summary;
    uint32_t best;
    uint32_t spare[1013];
};

static struct sched_ready sched_ready_map[NUM_CPU];

void sched_ready_init(void)
{
    for (uint32_t cpu = 0u; cpu < NUM_CPU; cpu = cpu + 1u) {
        for (uint32_t i = 0u; i < SCHED_READY_WORDS; i = i + 1u) {
            sched_ready_map[cpu].word[i] = 0ul;
        }
        sched_ready_map[cpu].summary = 0ul;
        sched_ready_map[cpu].best = 0u;
    }
}

static uint32_t sched_ready_queue(uint32_t cpu, uint32_t priority)
{
    return QUEUE_READY_BASE + cpu * NUM_PRIORITY + priority;
}

void sched_ready_insert(uint32_t cpu, uint32_t t)
{
    uint32_t priority = thread_priority(t);
    uint32_t word = priority / 64u;
    uint32_t q = sched_ready_queue(cpu, priority);
    thread_set_state(t, THREAD_READY);
    queue_enqueue(q, t);
    sched_ready_map[cpu].word[word] = sched_ready_map[cpu].word[word] | (1ul << (priority % 64u));
    sched_ready_map[cpu].summary = sched_ready_map[cpu].summary | (1ul << word);
    if (priority >= sched_ready_map[cpu].best) {
        sched_ready_map[cpu].best = priority + 1u;
    }
}

/* Records that the queue of this priority has become empty. */
static void sched_ready_clear(uint32_t cpu, uint32_t priority)
{
    uint32_t word = priority / 64u;
    sched_ready_map[cpu].word[word] = sched_ready_map[cpu].word[word] & ~(1ul << (priority % 64u));
    if (sched_ready_map[cpu].word[word] == 0ul) {
        sched_ready_map[cpu].summary = sched_ready_map[cpu].summary & ~(1ul << word);
    }
    if (sched_ready_map[cpu].summary == 0ul) {
        sched_ready_map[cpu].best = 0u;
        return;
    }
    uint32_t top = arch_highest_bit(sched_ready_map[cpu].summary);
    uint32_t bit = arch_highest_bit(sched_ready_map[cpu].word[top]);
    sched_ready_map[cpu].best = top * 64u + bit + 1u;
}

void sched_ready_remove(uint32_t cpu, uint32_t t)
{
    uint32_t priority = thread_priority(t);
    uint32_t q = sched_ready_queue(cpu, priority);
    queue_remove(t);
    uint32_t first = queue_peek(q);
    if (first == NONE) {
        sched_ready_clear(cpu, priority);
    }
}

uint32_t sched_ready_take(uint32_t cpu)
{
    if (sched_ready_map[cpu].best == 0u) {
        return NONE;
    }
    uint32_t priority = sched_ready_map[cpu].best - 1u;
    uint32_t q = sched_ready_queue(cpu, priority);
    uint32_t t = queue_dequeue(q);
    thread_set_state(t, THREAD_RUNNING);
    uint32_t first = queue_peek(q);
    if (first == NONE) {
        sched_ready_clear(cpu, priority);
    }
    return t;
}

void sched_ready_park(uint32_t q, uint32_t t)
{
    thread_set_state(t, THREAD_PARKED);
    queue_enqueue(q, t);
}

uint32_t sched_ready_best(uint32_t cpu)
{
    return sched_ready_map[cpu].best;
}

#if DEBUG
#include "sched_ready_check.c"
#endif
