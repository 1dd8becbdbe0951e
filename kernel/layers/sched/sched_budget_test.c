/* Reservations: in no period does a thread, or the servers that borrow from it, spend more than its budget; one that
 * always wants to run gets all of it in every period, however many others run out at the same time; threads without a
 * reservation are not disturbed. One CPU, switches are only recorded, alarms served on time. */
#include <string.h>

#include "arch.h"
#include "hosted.h"
#include "reschedule.h"
#include "queue.h"
#include "sched.h"
#include "test.h"
#include "thread.h"
#include "timer.h"

#define FIRST NUM_CPU
#define NUM 100u                /* threads with a reservation at most */
#define SERVER (FIRST + NUM)    /* no reservation */
#define FREE (FIRST + NUM + 1u) /* no reservation, lowest priority, never blocks */
#define MAX_RUNS 400000u
#define MS 1000000ul

struct run {
    uint64_t from;
    uint64_t to;
};

static struct run runs[8][MAX_RUNS]; /* of the first threads */
static uint32_t num_runs[NUM];
static uint64_t total[NUM];
static uint64_t period[NUM];
static uint64_t budget[NUM];
static uint32_t serves; /* thread that the server serves, or NONE */

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
    memset(total, 0, sizeof total);
    serves = NONE;
    thread_define(FREE, 1, 0, 1);
    thread_reset(FREE, NONE);
    sched_ready(FREE);
    thread_define(SERVER, 2, 0, 220);
    thread_reset(SERVER, NONE);
}

static void define(uint32_t i, uint64_t period_ns, uint64_t budget_ns, uint32_t priority)
{
    period[i] = period_ns;
    budget[i] = budget_ns;
    thread_define(FIRST + i, 0, 0, priority);
    sched_reserve(FIRST + i, period_ns, budget_ns);
    thread_reset(FIRST + i, NONE);
}

/* The thread whose reservation the running one should spend: NUM if none. */
static uint32_t payer(void)
{
    uint32_t t = thread_current() == SERVER ? serves : thread_current();

    return t >= FIRST && t < FIRST + NUM ? t - FIRST : NUM;
}

static void record(uint64_t from, uint64_t to)
{
    uint32_t i = payer();

    if (i < NUM && to > from) {
        total[i] += to - from;
        if (i < 8 && num_runs[i] < MAX_RUNS) {
            runs[i][num_runs[i]++] = (struct run){from, to};
        }
    }
}

/* Lets the running thread run for ns, serving alarms on time. */
static void pass(uint64_t ns)
{
    uint64_t end = arch_clock_ns() + ns;

    while (arch_clock_ns() < end) {
        uint64_t from = arch_clock_ns();
        uint64_t to = hosted_alarm(0) < end ? hosted_alarm(0) : end;
        if (to > from) {
            hosted_clock_set(to);
            record(from, to);
        }
        while (arch_interrupt_poll() == VECTOR_TIMER) {
            uint32_t t = test_timer_interrupt();
            if (t != NONE && thread_state(t) == THREAD_BLOCKED) {
                sched_ready(t);
            }
        }
        test_reschedule();
        CHECK_EQUAL(sched_check(), 0);
    }
}

/* The most that thread i spent in an interval of one period: that of two periods it may touch, and one in advance. It is
 * enough to look at intervals that begin where a run begins. */
static uint64_t worst_window(uint32_t i)
{
    uint64_t worst = 0;

    for (uint32_t a = 0; a < num_runs[i]; a++) {
        uint64_t end = runs[i][a].from + period[i];
        uint64_t sum = 0;
        for (uint32_t b = a; b < num_runs[i] && runs[i][b].from < end; b++) {
            sum += (runs[i][b].to < end ? runs[i][b].to : end) - runs[i][b].from;
        }
        worst = sum > worst ? sum : worst;
    }
    return worst;
}

/* A busy thread of the highest priority gets exactly its budget in each period. */
static void hog(void)
{
    start();
    define(0, 10 * MS, 2 * MS, 200);
    sched_ready(FIRST);
    test_reschedule();
    for (uint32_t i = 1; i <= 100; i++) {
        pass(10 * MS);
        CHECK_EQUAL(total[0], i * 2 * MS);
    }
    CHECK_EQUAL(worst_window(0), 2 * MS);
    CHECK_EQUAL(sched_used_ns(FIRST), 200 * MS);
}

/* A hundred threads, together below the whole processor, run out at the same moment in every period, whatever their
 * priorities; each gets its whole budget in each, and the thread without a reservation gets what is left. */
static void many(void)
{
    start();
    for (uint32_t i = 0; i < NUM; i++) {
        define(i, 10 * MS, MS / 20, 50 + i % 3);
        sched_ready(FIRST + i);
    }
    test_reschedule();
    for (uint32_t round = 1; round <= 20; round++) {
        pass(10 * MS);
        for (uint32_t i = 0; i < NUM; i++) {
            CHECK_EQUAL(total[i], round * (MS / 20));
        }
    }
    pass(6 * MS);
    CHECK_EQUAL(thread_state(FIRST), THREAD_PARKED);
    CHECK_EQUAL(thread_current(), FREE);
}

/* Releases that are due together are served one an interrupt, so that no other interrupt waits for all of them. */
static void one_by_one(void)
{
    start();
    for (uint32_t i = 0; i < NUM; i++) {
        define(i, 10 * MS, MS / 100, 200);
        sched_ready(FIRST + i);
    }
    test_reschedule();
    pass(5 * MS);
    hosted_clock_set(arch_clock_ns() + 20 * MS);
    for (uint32_t released = 0; released < NUM; released++) {
        uint32_t parked = 0;
        for (uint32_t i = 0; i < NUM; i++) {
            parked += thread_state(FIRST + i) == THREAD_PARKED;
        }
        CHECK_EQUAL(parked, NUM - released);
        CHECK_EQUAL(arch_interrupt_poll(), VECTOR_TIMER);
        CHECK_EQUAL(test_timer_interrupt(), NONE);
        CHECK_EQUAL(sched_check(), 0);
    }
    CHECK_EQUAL(arch_interrupt_poll(), NONE);
}

/* Threads block, sleep, wake, yield, switch directly and call a server at random times. */
static void random_operation(void)
{
    uint32_t current = thread_current();
    uint32_t other = FIRST + (uint32_t)test_random(8);

    switch (current == FREE ? 6 : current == SERVER ? 5 : test_random(5)) {
    case 0:
        sched_prepare_block(thread_current());
        sched_set_deadline(current, arch_clock_ns() + 1000 + test_random(5000000));
        sched_block();
        break;
    case 1:
        sched_yield();
        break;
    case 2:
        if (other != current && thread_state(other) == THREAD_BLOCKED && other != serves) {
            sched_clear_deadline(other);
            sched_prepare_block(thread_current());
            sched_set_deadline(current, arch_clock_ns() + 1000 + test_random(500000));
            sched_switch_to(other);
        }
        break;
    case 3:
        if (serves == NONE) {
            serves = current;
            sched_prepare_block(thread_current());
            sched_call(SERVER);
        }
        break;
    case 5:
        if (test_random(2)) {
            uint32_t client = serves;
            serves = NONE;
            sched_prepare_block(thread_current());
            sched_reply(client);
        }
        break;
    default:
        if (thread_state(other) == THREAD_BLOCKED && other != serves) {
            sched_clear_deadline(other);
            sched_ready(other);
        }
    }
    test_reschedule();
}

static void random_lives(uint64_t operations)
{
    start();
    for (uint32_t i = 0; i < 8; i++) {
        uint64_t t = (1 + test_random(20)) * MS;
        define(i, t, t / (2 + test_random(8)), 50 + (uint32_t)test_random(3));
        sched_ready(FIRST + i);
    }
    test_reschedule();
    for (uint64_t i = 0; i < operations; i++) {
        random_operation();
        pass(test_random(8) ? test_random(300000) : test_random(5000000));
    }
    for (uint32_t i = 0; i < 8; i++) {
        CHECK(worst_window(i) <= 3 * budget[i]);
        CHECK(total[i] <= (arch_clock_ns() / period[i] + 2) * budget[i]);
        CHECK_EQUAL(sched_used_ns(FIRST + i), total[i]);
        CHECK(num_runs[i] < MAX_RUNS);
    }
}

/* A thread that wakes and blocks all the time still gets its whole budget in each period. */
static void storm(void)
{
    start();
    define(0, 10 * MS, 1 * MS, 200);
    sched_ready(FIRST);
    test_reschedule();
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t before = thread_current();
        pass(5000);
        if (before == FIRST && thread_current() == FIRST) {
            sched_prepare_block(thread_current());
            sched_set_deadline(FIRST, arch_clock_ns() + 5000);
            sched_block();
        }
    }
    CHECK(total[0] >= arch_clock_ns() / 10 - 2 * MS && total[0] <= arch_clock_ns() / 10 + 1 * MS);
}

/* Clients with reservations call a server without one: it runs on theirs, with one budget in advance, and no longer; a
 * cancelled client takes its reservation back. */
static void server(void)
{
    start();
    define(0, 10 * MS, 2 * MS, 100);
    define(1, 10 * MS, 3 * MS, 100);
    sched_ready(FIRST);
    test_reschedule();
    serves = FIRST;
    sched_prepare_block(thread_current());
    sched_call(SERVER);
    CHECK_EQUAL(thread_current(), SERVER);
    pass(9 * MS);
    CHECK_EQUAL(total[0], 4 * MS); /* the second two in advance */
    CHECK_EQUAL(thread_state(SERVER), THREAD_PARKED);
    pass(20 * MS);
    CHECK_EQUAL(total[0], 8 * MS);
    pass(1 * MS); /* the server runs in the client's fourth period */
    CHECK_EQUAL(thread_current(), SERVER);
    serves = NONE;
    sched_ready(FIRST);
    sched_prepare_block(thread_current());
    sched_repay();
    CHECK_EQUAL(sched_used_ns(FIRST), total[0]);
    sched_block();
    CHECK_EQUAL(thread_current(), FREE); /* the client's fourth budget was spent in advance */
    CHECK_EQUAL(thread_state(FIRST), THREAD_PARKED);
    pass(10 * MS);
    CHECK_EQUAL(thread_current(), FIRST);
    sched_prepare_block(thread_current());
    sched_call(SERVER);
    serves = FIRST;
    sched_revoke(SERVER);
    serves = NONE;
    uint64_t before = total[0];
    pass(9 * MS);
    CHECK_EQUAL(thread_current(), SERVER); /* not limited */
    CHECK_EQUAL(total[0], before);
    CHECK_EQUAL(sched_used_ns(FIRST), before);
}

/* A server finishes its request in advance of the client's next budget, which is shorter by that; the client itself does
 * not run in advance. */
static void advance(void)
{
    start();
    define(0, 10 * MS, 2 * MS, 100);
    sched_ready(FIRST);
    test_reschedule();
    pass(1 * MS);
    serves = FIRST;
    sched_prepare_block(thread_current());
    sched_call(SERVER);
    pass(2 * MS);
    CHECK_EQUAL(thread_current(), SERVER);
    CHECK_EQUAL(total[0], 3 * MS); /* one in advance */
    serves = NONE;
    sched_prepare_block(thread_current());
    sched_reply(FIRST);
    CHECK_EQUAL(thread_current(), FREE);
    CHECK_EQUAL(thread_state(FIRST), THREAD_PARKED);
    pass(17 * MS - 1);
    CHECK_EQUAL(total[0], 4 * MS); /* the second period's */
    CHECK_EQUAL(thread_state(FIRST), THREAD_PARKED);
    pass(1);
    CHECK_EQUAL(thread_current(), FIRST);
}

/* A client whose server was interrupted, so that the alarm was set for the server's time, stops on time. */
static void back_on_time(void)
{
    start();
    define(0, 10 * MS, 2 * MS, 100);
    define(1, 100 * MS, 5 * MS, 230);
    sched_ready(FIRST);
    test_reschedule();
    serves = FIRST;
    sched_prepare_block(thread_current());
    sched_call(SERVER);
    pass(1 * MS);
    sched_ready(FIRST + 1);
    test_reschedule();
    CHECK_EQUAL(thread_current(), FIRST + 1);
    pass(MS / 2);
    sched_prepare_block(thread_current());
    sched_block();
    CHECK_EQUAL(thread_current(), SERVER);
    pass(3 * MS / 4);
    serves = NONE;
    sched_prepare_block(thread_current());
    sched_reply(FIRST);
    CHECK_EQUAL(thread_current(), FIRST);
    pass(5 * MS);
    CHECK_EQUAL(total[0], 2 * MS);
}

/* A boosted thread without time left runs at once; after sched_unboost it waits again. */
static void boosted(void)
{
    start();
    define(0, 100 * MS, 1 * MS, 200);
    sched_ready(FIRST);
    test_reschedule();
    pass(2 * MS);
    CHECK_EQUAL(thread_state(FIRST), THREAD_PARKED);
    CHECK_EQUAL(thread_current(), FREE);
    sched_boost(FIRST);
    test_reschedule();
    CHECK_EQUAL(thread_current(), FIRST);
    CHECK_EQUAL(sched_check(), 0);
    sched_unboost();
    test_reschedule();
    CHECK_EQUAL(thread_current(), FREE);
    CHECK_EQUAL(thread_state(FIRST), THREAD_PARKED);
    CHECK_EQUAL(sched_check(), 0);
}

/* Time that a thread ran too long, because its alarm was served late, is missing in its next period. */
static void late(void)
{
    start();
    define(0, 10 * MS, 2 * MS, 200);
    sched_ready(FIRST);
    test_reschedule();
    hosted_clock_set(arch_clock_ns() + 3 * MS);
    CHECK_EQUAL(arch_interrupt_poll(), VECTOR_TIMER);
    CHECK_EQUAL(test_timer_interrupt(), NONE);
    test_reschedule();
    CHECK_EQUAL(thread_state(FIRST), THREAD_PARKED);
    pass(17 * MS);
    CHECK_EQUAL(total[0], 1 * MS);
    pass(10 * MS);
    CHECK_EQUAL(total[0], 3 * MS);
}

/* A thread whose budget ends when its period does gets no more than the next one's, also if the next period begins between the
 * alarm and the decision. */
static void refilled(void)
{
    start();
    define(0, 10 * MS, 2 * MS, 200);
    sched_ready(FIRST);
    test_reschedule();
    hosted_clock_set(arch_clock_ns() + 2 * MS);
    CHECK_EQUAL(arch_interrupt_poll(), VECTOR_TIMER);
    CHECK_EQUAL(test_timer_interrupt(), NONE);
    sched_pause_charge();
    hosted_clock_set(arch_clock_ns() + 8 * MS);
    sched_resume_charge();
    test_reschedule();
    CHECK_EQUAL(thread_current(), FIRST);
    CHECK_EQUAL(sched_check(), 0);
    pass(10 * MS);
    CHECK_EQUAL(total[0], 2 * MS);
}

int main(void)
{
    uint64_t operations = test_operations(20000);

    test_random_start();
    hog();
    many();
    one_by_one();
    for (uint32_t round = 0; round < 4; round++) {
        random_lives(operations / 4);
    }
    storm();
    server();
    advance();
    back_on_time();
    boosted();
    late();
    refilled();
    return TEST_END();
}
