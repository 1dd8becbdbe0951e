/* What acquiring and releasing a lock costs on this machine's own processors: the kernel's ticket and MCS locks (the very
 * layer, on the hosted machine), and beside them in the same run bare loops of the same algorithms and pthread_spin.
 *   locks [CPUS]
 * For 1 to CPUS pinned threads (default: all processors) prints a line {"lock": NAME, "cpus": N, "cycles": C} each: TSC
 * cycles per transaction of the whole machine, that is, the time of a round divided by N * 10,000. A round begins when
 * all threads are there. Of many rounds the lower decile is taken: other work on the machine only ever adds. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <x86intrin.h>

#include "arch.h"
#include "hosted_parts.h"
#include "spinlock.h"
#include "spinlock_parts.h"

#define TRANSACTIONS 10000u
#define ROUNDS 120u
#define TICKET_LOCK LOCK_FRAME /* one each: the algorithms use the cells differently */
#define MCS_LOCK LOCK_SHARE

_Thread_local uint32_t hosted_cpu;

uint32_t arch_cpu(void)
{
    return hosted_cpu;
}

/* ---- bare loops ---- */

static struct {
    _Alignas(64) uint64_t next;
    _Alignas(64) uint64_t served;
} bare_ticket;

static inline void bare_ticket_acquire(void)
{
    uint64_t ticket = __atomic_fetch_add(&bare_ticket.next, 1, __ATOMIC_SEQ_CST);

    while (__atomic_load_n(&bare_ticket.served, __ATOMIC_ACQUIRE) != ticket) {
        _mm_pause();
    }
}

static inline void bare_ticket_release(void)
{
    uint64_t served = __atomic_load_n(&bare_ticket.served, __ATOMIC_RELAXED);

    __atomic_store_n(&bare_ticket.served, served + 1, __ATOMIC_RELEASE);
}

struct bare_node {
    _Alignas(64) struct bare_node *next;
    uint32_t busy;
};

static struct {
    _Alignas(64) struct bare_node *tail;
} bare_mcs;
static struct bare_node bare_nodes[NUM_CPU];

static inline void bare_mcs_acquire(struct bare_node *node)
{
    __atomic_store_n(&node->next, NULL, __ATOMIC_RELAXED);
    struct bare_node *before = __atomic_exchange_n(&bare_mcs.tail, node, __ATOMIC_SEQ_CST);

    if (before) {
        __atomic_store_n(&node->busy, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&before->next, node, __ATOMIC_RELEASE);
        while (__atomic_load_n(&node->busy, __ATOMIC_ACQUIRE)) {
            _mm_pause();
        }
    }
}

static inline void bare_mcs_release(struct bare_node *node)
{
    struct bare_node *next = __atomic_load_n(&node->next, __ATOMIC_ACQUIRE);

    if (!next) {
        struct bare_node *self = node;
        if (__atomic_compare_exchange_n(&bare_mcs.tail, &self, NULL, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
            return;
        }
        while (!(next = __atomic_load_n(&node->next, __ATOMIC_ACQUIRE))) {
            _mm_pause();
        }
    }
    __atomic_store_n(&next->busy, 0, __ATOMIC_RELEASE);
}

/* ---- the loops that are measured, each of its own so that nothing but the lock is in it ---- */

static pthread_spinlock_t pthread_lock;

static void loop_ticket(void)
{
    for (uint32_t i = 0; i < TRANSACTIONS; i++) {
        spinlock_ticket_acquire(TICKET_LOCK);
        spinlock_ticket_release(TICKET_LOCK);
    }
}

static void loop_mcs(void)
{
    for (uint32_t i = 0; i < TRANSACTIONS; i++) {
        spinlock_mcs_acquire(MCS_LOCK);
        spinlock_mcs_release(MCS_LOCK);
    }
}

static void loop_bare_ticket(void)
{
    for (uint32_t i = 0; i < TRANSACTIONS; i++) {
        bare_ticket_acquire();
        bare_ticket_release();
    }
}

static void loop_bare_mcs(void)
{
    for (uint32_t i = 0; i < TRANSACTIONS; i++) {
        bare_mcs_acquire(&bare_nodes[hosted_cpu]);
        bare_mcs_release(&bare_nodes[hosted_cpu]);
    }
}

static void loop_pthread_spin(void)
{
    for (uint32_t i = 0; i < TRANSACTIONS; i++) {
        pthread_spin_lock(&pthread_lock);
        pthread_spin_unlock(&pthread_lock);
    }
}

static const struct {
    const char *name;
    void (*loop)(void);
} subjects[] = {
    {"ticket", loop_ticket},
    {"mcs", loop_mcs},
    {"bare-ticket", loop_bare_ticket},
    {"bare-mcs", loop_bare_mcs},
    {"pthread-spin", loop_pthread_spin},
};
#define NUM_SUBJECT (sizeof subjects / sizeof subjects[0])

/* ---- rounds ---- */

static uint32_t num_cpu;
static uint32_t subject;
static uint32_t waiting; /* threads that are at the start of the round */
static uint32_t round_now;
static uint64_t begins[NUM_CPU]; /* time stamps of this round */
static uint64_t ends[NUM_CPU];

/* All threads begin a round together; the last to come opens it. */
static void meet(void)
{
    uint32_t this_round = __atomic_load_n(&round_now, __ATOMIC_ACQUIRE);

    if (__atomic_add_fetch(&waiting, 1, __ATOMIC_SEQ_CST) == num_cpu) {
        __atomic_store_n(&waiting, 0, __ATOMIC_RELAXED);
        __atomic_fetch_add(&round_now, 1, __ATOMIC_RELEASE);
        return;
    }
    while (__atomic_load_n(&round_now, __ATOMIC_ACQUIRE) == this_round) {
        _mm_pause();
    }
}

static uint64_t times[ROUNDS];

/* CPU 0 keeps the books between the end of a round and the beginning of the next. */
static void keep(uint32_t round)
{
    uint64_t first = begins[0];
    uint64_t last = ends[0];

    for (uint32_t cpu = 1; cpu < num_cpu; cpu++) {
        first = begins[cpu] < first ? begins[cpu] : first;
        last = ends[cpu] > last ? ends[cpu] : last;
    }
    times[round] = last - first;
}

static void *cpu_main(void *argument)
{
    uint32_t cpu = (uint32_t)(uintptr_t)argument;
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0) {
        fprintf(stderr, "locks: cannot use processor %u\n", cpu);
        exit(2);
    }
    hosted_cpu = cpu;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        meet();
        begins[cpu] = __rdtsc();
        subjects[subject].loop();
        ends[cpu] = __rdtsc();
        meet();
        if (cpu == 0) {
            keep(round);
        }
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static double measure(void)
{
    pthread_t threads[NUM_CPU];

    for (uint32_t cpu = 0; cpu < num_cpu; cpu++) {
        if (pthread_create(&threads[cpu], NULL, cpu_main, (void *)(uintptr_t)cpu) != 0) {
            fprintf(stderr, "locks: no thread for processor %u\n", cpu);
            exit(2);
        }
    }
    for (uint32_t cpu = 0; cpu < num_cpu; cpu++) {
        pthread_join(threads[cpu], NULL);
    }
    qsort(times, ROUNDS, sizeof times[0], compare);
    return (double)times[ROUNDS / 10] / ((double)TRANSACTIONS * num_cpu);
}

int main(int argc, char **argv)
{
    long all = sysconf(_SC_NPROCESSORS_ONLN);
    long cpus = argc > 1 ? strtol(argv[1], NULL, 10) : all;

    if (cpus < 1 || cpus > all || cpus > (long)NUM_CPU) {
        fprintf(stderr, "locks: %ld processors: choose 1 to %ld\n", cpus, all < (long)NUM_CPU ? all : (long)NUM_CPU);
        return 2;
    }
    pthread_spin_init(&pthread_lock, PTHREAD_PROCESS_PRIVATE);
    for (num_cpu = 1; num_cpu <= (uint32_t)cpus; num_cpu++) {
        for (subject = 0; subject < NUM_SUBJECT; subject++) {
            printf("{\"lock\": \"%s\", \"cpus\": %u, \"cycles\": %.2f}\n", subjects[subject].name, num_cpu, measure());
        }
    }
    return 0;
}
