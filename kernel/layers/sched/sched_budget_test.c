/* Budgets: in no interval of one period does a limited process run longer than its budget, whatever its threads do;
 * one that is always ready gets all of it; other processes are not disturbed. One CPU, switches are only recorded,
 * alarms served on time. */
#include <string.h>

#include "arch.h"
#include "hosted.h"
#include "queue.h"
#include "sched.h"
#include "test.h"
#include "thread.h"
#include "timer.h"

#define FIRST NUM_CPU
#define NUM_LIMITED 3u
#define THREADS_EACH 3u
#define FREE_PROCESS NUM_LIMITED /* no limit, lowest priority, never blocks */
#define FREE_THREAD (FIRST + NUM_LIMITED * THREADS_EACH)
#define MAX_RUNS 400000u
#define MS 1000000ul

struct run {
    uint64_t from;
    uint64_t to;
};

static struct run runs[NUM_LIMITED][MAX_RUNS];
static uint32_t num_runs[NUM_LIMITED];
static uint64_t period[NUM_LIMITED];
static uint64_t budget[NUM_LIMITED];

static void start(void)
{
    hosted_reset(1);
    hosted_simulate_switch(1);
    queue_init();
    thread_init();
    timer_init();
    sched_init();
    sched_init_cpu();
    memset(num_runs, 0, sizeof num_runs);
}

/* Lets the running thread run for ns, serving alarms on time. */
static void pass(uint64_t ns)
{
    uint64_t end = arch_clock_ns() + ns;

    while (arch_clock_ns() < end) {
        uint64_t from = arch_clock_ns();
        uint64_t to = hosted_alarm(0) < end ? hosted_alarm(0) : end;
        uint32_t p = thread_process(thread_current());
        if (to > from) {
            hosted_clock_set(to);
            if (p < NUM_LIMITED && num_runs[p] < MAX_RUNS) {
                runs[p][num_runs[p]++] = (struct run){from, to};
            }
        }
        if (arch_interrupt_poll() == VECTOR_TIMER) {
            sched_timer_interrupt();
            for (uint32_t t = sched_take_expired(); t != NONE; t = sched_take_expired()) {
                sched_ready(t);
            }
            sched_leave();
        }
        CHECK_EQUAL(sched_check(), 0);
    }
}

/* The most that p ran in any interval of one period. It is enough to look at those that begin where a run begins. */
static uint64_t worst_window(uint32_t p)
{
    uint64_t worst = 0;

    for (uint32_t i = 0; i < num_runs[p]; i++) {
        uint64_t end = runs[p][i].from + period[p];
        uint64_t sum = 0;
        for (uint32_t j = i; j < num_runs[p] && runs[p][j].from < end; j++) {
            sum += (runs[p][j].to < end ? runs[p][j].to : end) - runs[p][j].from;
        }
        worst = sum > worst ? sum : worst;
    }
    return worst;
}

static uint64_t total(uint32_t p)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < num_runs[p]; i++) {
        sum += runs[p][i].to - runs[p][i].from;
    }
    return sum;
}

static void define(uint32_t p, uint64_t period_ns, uint64_t budget_ns, uint32_t priority)
{
    period[p] = period_ns;
    budget[p] = budget_ns;
    sched_set_budget(p, period_ns, budget_ns);
    for (uint32_t i = 0; i < THREADS_EACH; i++) {
        thread_define(FIRST + p * THREADS_EACH + i, p, 0, priority);
        thread_reset(FIRST + p * THREADS_EACH + i, NONE);
    }
}

static void define_free(void)
{
    thread_define(FREE_THREAD, FREE_PROCESS, 0, 1);
    thread_reset(FREE_THREAD, NONE);
    sched_ready(FREE_THREAD);
}

/* A busy process of the highest priority gets exactly its budget. */
static void hog(uint32_t threads)
{
    start();
    define(0, 10 * MS, 2 * MS, 200);
    define_free();
    for (uint32_t i = 0; i < threads; i++) {
        sched_ready(FIRST + i);
    }
    sched_leave();
    pass(1000 * MS);
    CHECK_EQUAL(worst_window(0), 2 * MS);
    CHECK_EQUAL(total(0), 200 * MS);
    CHECK_EQUAL(sched_used_ns(0), 200 * MS);
}

/* Threads of three limited processes block, sleep, wake, yield and switch directly at random times. */
static void random_lives(uint64_t operations)
{
    start();
    for (uint32_t p = 0; p < NUM_LIMITED; p++) {
        uint64_t t = (1 + test_random(20)) * MS;
        define(p, t, t / (2 + test_random(8)), 50 + test_random(3));
    }
    define_free();
    for (uint32_t t = FIRST; t < FREE_THREAD; t++) {
        sched_ready(t);
    }
    sched_leave();
    for (uint64_t i = 0; i < operations; i++) {
        uint32_t current = thread_current();
        uint32_t other = FIRST + test_random(NUM_LIMITED * THREADS_EACH);
        CHECK(current >= FIRST); /* the free thread is always ready */
        switch (current == FREE_THREAD ? 4 : test_random(5)) {
        case 0:
            sched_prepare_block();
            sched_set_deadline(current, arch_clock_ns() + 1000 + test_random(5000000));
            sched_block();
            break;
        case 1:
            sched_yield();
            break;
        case 2:
            if (other != current && thread_state(other) == THREAD_BLOCKED) {
                sched_clear_deadline(other);
                sched_prepare_block();
                sched_set_deadline(current, arch_clock_ns() + 1000 + test_random(500000));
                sched_switch_to(other);
            }
            break;
        default:
            if (thread_state(other) == THREAD_BLOCKED) {
                sched_clear_deadline(other);
                sched_ready(other);
            }
        }
        sched_leave();
        pass(test_random(8) ? test_random(300000) : test_random(5000000));
    }
    for (uint32_t p = 0; p < NUM_LIMITED; p++) {
        CHECK(worst_window(p) <= budget[p]);
        CHECK_EQUAL(sched_used_ns(p), total(p));
        CHECK(num_runs[p] < MAX_RUNS);
    }
}

/* A boosted thread of an exhausted process runs at once; after sched_unboost it waits again. */
static void boosted(void)
{
    start();
    define(0, 100 * MS, 1 * MS, 200);
    define_free();
    sched_ready(FIRST);
    sched_leave();
    pass(2 * MS);
    CHECK_EQUAL(thread_state(FIRST), THREAD_PARKED);
    CHECK_EQUAL(thread_current(), FREE_THREAD);
    sched_boost(FIRST);
    sched_leave();
    CHECK_EQUAL(thread_current(), FIRST);
    CHECK_EQUAL(sched_check(), 0);
    sched_unboost();
    sched_leave();
    CHECK_EQUAL(thread_current(), FREE_THREAD);
    CHECK_EQUAL(thread_state(FIRST), THREAD_PARKED);
    CHECK_EQUAL(sched_check(), 0);
}

/* Many parked threads become ready a few at a time, so that no interrupt is delayed by all of them; all are ready
 * before time advances. Processes that have no budget yet do not delay them, and get theirs in time. */
static void many(void)
{
    start();
    define(0, 10 * MS, 1 * MS, 200);
    define(1, 10 * MS, 1 * MS, 199);
    define(2, 40 * MS, 1 * MS, 198);
    define_free();
    for (uint32_t i = 0; i < 40; i++) {
        thread_define(FREE_THREAD + 1 + i, 0, 0, 200);
        thread_reset(FREE_THREAD + 1 + i, NONE);
        sched_ready(FREE_THREAD + 1 + i);
    }
    for (uint32_t t = FIRST; t < FREE_THREAD; t++) {
        sched_ready(t);
    }
    sched_leave();
    pass(4 * MS);
    CHECK_EQUAL(thread_current(), FREE_THREAD);
    hosted_clock_set(arch_clock_ns() + 8 * MS);
    uint32_t interrupts = 0;
    uint32_t ready = 0;
    uint32_t most = 0;
    while (hosted_alarm(0) <= arch_clock_ns() && arch_interrupt_poll() == VECTOR_TIMER && interrupts < 100) {
        uint32_t now_ready = 0;
        sched_timer_interrupt();
        CHECK_EQUAL(sched_take_expired(), NONE);
        for (uint32_t t = FIRST; t <= FREE_THREAD + 40; t++) {
            now_ready += t != FREE_THREAD && (thread_state(t) == THREAD_READY || thread_state(t) == THREAD_RUNNING);
        }
        most = now_ready - ready > most ? now_ready - ready : most;
        ready = now_ready;
        interrupts++;
        CHECK_EQUAL(sched_check(), 0);
    }
    CHECK_EQUAL(ready, 40 + 2 * THREADS_EACH);
    CHECK_EQUAL(most, 4);
    CHECK(interrupts < 100);
    for (uint32_t i = 0; i < THREADS_EACH; i++) {
        CHECK_EQUAL(thread_state(FIRST + 2 * THREADS_EACH + i), THREAD_PARKED);
    }
    sched_leave();
    pass(390 * MS);
    for (uint32_t p = 0; p < NUM_LIMITED; p++) {
        CHECK(worst_window(p) <= budget[p]);
    }
    CHECK_EQUAL(total(0), 40 * MS);
    CHECK_EQUAL(total(1), 40 * MS);
    CHECK_EQUAL(total(2), 10 * MS);
}

int main(void)
{
    uint64_t operations = test_operations(20000);

    test_random_start();
    hog(1);
    hog(3);
    for (uint32_t round = 0; round < 4; round++) {
        random_lives(operations / 4);
    }
    boosted();
    many();
    return TEST_END();
}
