/* The scheduler of one CPU against a model: lists in order, searched from the top. Switches are only recorded, so
 * this file plays every thread in turn. A second CPU only wakes threads. */
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
#define NUM 40u /* threads, all of CPU 0 */
#define NEVER 0xfffffffffffffffful

struct model_thread {
    uint32_t priority;
    uint32_t base;
    uint32_t ready; /* in `order` */
    uint32_t blocked;
    uint64_t deadline;
};

static struct model_thread model[FIRST + NUM];
static uint32_t order[NUM]; /* ready threads, in order of arrival */
static uint32_t count;
static uint32_t running; /* thread, 0: idle */
static uint32_t slice_over;
static uint64_t slice_end;
static uint64_t now;

static uint32_t level(uint32_t t)
{
    return t < FIRST ? 0 : model[t].priority + 1;
}

/* Index in `order` of the thread that should run, or count. */
static uint32_t model_first(void)
{
    uint32_t best = count;

    for (uint32_t i = 0; i < count; i++) {
        if (best == count || level(order[i]) > level(order[best])) {
            best = i;
        }
    }
    return best;
}

static uint32_t model_best(void)
{
    uint32_t first = model_first();

    return first == count ? 0 : level(order[first]);
}

static void model_turn(void)
{
    if (model_best() == level(running) && model_best() != 0 && slice_end == NEVER) {
        slice_end = now + SCHED_SLICE_NS;
    }
}

static void model_insert(uint32_t t)
{
    order[count++] = t;
    model[t].ready = 1;
    model[t].blocked = 0;
    if (level(t) == level(running)) {
        model_turn();
    }
}

static void model_remove(uint32_t t)
{
    for (uint32_t i = 0; i < count; i++) {
        if (order[i] == t) {
            memmove(&order[i], &order[i + 1], (count - i - 1) * sizeof(uint32_t));
            count--;
            model[t].ready = 0;
            return;
        }
    }
}

static void model_pick(void)
{
    uint32_t first = model_first();

    running = 0;
    if (first != count) {
        running = order[first];
        model_remove(running);
    }
    slice_over = 0;
    slice_end = NEVER;
    model_turn();
}

static void model_leave(void)
{
    if (model_best() > level(running) || (slice_over && model_best() == level(running) && running)) {
        if (running) {
            order[count++] = running;
            model[running].ready = 1;
        }
        model_pick();
    } else if (slice_over) {
        slice_end = NEVER;
        model_turn();
    }
    slice_over = 0;
}

static uint32_t some_thread(uint32_t blocked)
{
    for (uint32_t i = 0; i < 20; i++) {
        uint32_t t = FIRST + test_random(NUM);
        if (t != running && model[t].blocked == blocked) {
            return t;
        }
    }
    return NONE;
}

static void serve_timer(void)
{
    while (arch_interrupt_poll() == VECTOR_TIMER) {
        uint32_t t = test_timer_interrupt();
        if (slice_end <= now) {
            slice_end = NEVER;
            slice_over = 1;
        }
        if (t != NONE) {
            CHECK(model[t].deadline <= now);
            model[t].deadline = NEVER;
            if (model[t].blocked) {
                sched_ready(t);
                model_insert(t);
            }
        }
    }
    for (uint32_t t = FIRST; t < FIRST + NUM; t++) {
        CHECK(model[t].deadline > now);
    }
}

static void block(void)
{
    if (running) {
        model[running].blocked = 1;
        sched_prepare_block(thread_current());
        sched_block();
        model_pick();
    }
}

static void hand_over(void)
{
    uint32_t t = some_thread(1);

    if (!running || t == NONE) {
        return;
    }
    model[running].blocked = 1;
    sched_prepare_block(thread_current());
    sched_switch_to(t);
    if (level(t) >= model_best()) {
        model[t].blocked = 0;
        running = t;
        model_turn();
    } else {
        model_insert(t);
        model_pick();
    }
}

static void wake(uint32_t cpu)
{
    uint32_t t = some_thread(1);

    if (t == NONE) {
        return;
    }
    hosted_set_cpu(cpu);
    sched_ready(t);
    hosted_set_cpu(0);
    if (cpu != 0) {
        CHECK(hosted_raised(0, VECTOR_RESCHEDULE));
        hosted_lower(0, VECTOR_RESCHEDULE);
        sched_drain_pending();
    }
    model_insert(t);
}

static void boost(void)
{
    uint32_t t = FIRST + test_random(NUM);

    if (t == running) {
        sched_unboost();
        model[t].priority = model[t].base;
        return;
    }
    uint32_t was_ready = model[t].ready;
    sched_boost(t);
    if (was_ready) {
        model_remove(t);
    }
    model[t].priority = NUM_PRIORITY - 1;
    if (was_ready) {
        model_insert(t);
    }
}

static void deadline(void)
{
    uint32_t t = FIRST + test_random(NUM);

    if (test_random(4) == 0) {
        sched_clear_deadline(t);
        model[t].deadline = NEVER;
    } else {
        model[t].deadline = now + 1 + test_random(20000000);
        sched_set_deadline(t, model[t].deadline);
    }
}

static void random_operation(void)
{
    switch (test_random(9)) {
    case 0:
    case 1:
        block();
        break;
    case 2:
        hand_over();
        break;
    case 3:
        wake(0);
        break;
    case 4:
        wake(1);
        break;
    case 5:
        sched_yield();
        slice_over = 1;
        break;
    case 6:
        if (test_random(10) == 0) {
            boost();
        }
        break;
    case 7:
        deadline();
        break;
    default:
        now += test_random(4000000);
        hosted_clock_set(now);
        serve_timer();
    }
    test_reschedule();
    model_leave();
}

static void start(void)
{
    hosted_reset(2);
    hosted_simulate_switch(1);
    queue_init();
    thread_init();
    timer_init();
    sched_init();
    sched_init_cpu();
}

static void against_model(void)
{
    uint64_t operations = test_operations(40000);

    start();
    slice_end = NEVER;
    for (uint32_t t = FIRST; t < FIRST + NUM; t++) {
        /* Few priorities, so that many are equal; and the ends of every word of the bitmap. */
        static const uint32_t choice[] = {0, 1, 63, 64, 127, 128, 200, 254, 255};
        model[t].priority = model[t].base = choice[test_random(9)];
        model[t].blocked = 1;
        model[t].deadline = NEVER;
        thread_define(t, NUM_PROCESS - 1, 0, model[t].priority);
        thread_reset(t, NONE);
    }
    for (uint64_t i = 0; i < operations; i++) {
        random_operation();
        CHECK_EQUAL(thread_current(), running);
        for (uint32_t t = FIRST; t < FIRST + NUM; t++) {
            uint32_t state = t == running ? THREAD_RUNNING : model[t].ready ? THREAD_READY : THREAD_BLOCKED;
            CHECK_EQUAL(thread_state(t), state);
        }
        if (!CHECK_EQUAL(sched_check(), 0) || !CHECK_EQUAL(queue_check(), 0)) {
            printf("operation %llu\n", (unsigned long long)i);
            return;
        }
    }
}

/* Three threads that never block share the processor evenly, also with a pair of threads that switch directly to each
 * other. */
static void fair_turns(uint32_t pair)
{
    uint64_t time[5] = {0};

    start();
    for (uint32_t i = 0; i < 5; i++) {
        thread_define(FIRST + i, 0, 0, 100);
        thread_reset(FIRST + i, NONE);
    }
    for (uint32_t i = 0; i < 3 + pair; i++) {
        sched_ready(FIRST + i);
    }
    test_reschedule();
    for (uint32_t step = 0; step < 6000; step++) {
        uint32_t current = thread_current() - FIRST;
        time[current] += SCHED_SLICE_NS / 10;
        hosted_clock_advance(SCHED_SLICE_NS / 10);
        if (current >= 3) {
            sched_prepare_block(thread_current());
            sched_switch_to(FIRST + (current == 3 ? 4 : 3));
        }
        if (arch_interrupt_poll() == VECTOR_TIMER) {
            CHECK_EQUAL(test_timer_interrupt(), NONE);
        }
        test_reschedule();
    }
    time[3] += time[4];
    for (uint32_t i = 0; i < 3 + pair; i++) {
        CHECK(time[i] >= time[0] - SCHED_SLICE_NS && time[i] <= time[0] + SCHED_SLICE_NS);
    }
}

/* Two threads of one priority that are woken in one kernel entry, both more important than the one that runs, take turns. */
static void woken_together_take_turns(void)
{
    uint64_t time[3] = {0};

    start();
    for (uint32_t i = 0; i < 3; i++) {
        thread_define(FIRST + i, 0, 0, i == 0 ? 1 : 100);
        thread_reset(FIRST + i, NONE);
    }
    sched_ready(FIRST);
    test_reschedule();
    sched_ready(FIRST + 1);
    sched_ready(FIRST + 2);
    for (uint32_t step = 0; step < 100; step++) {
        test_reschedule();
        time[thread_current() - FIRST] += SCHED_SLICE_NS / 10;
        hosted_clock_advance(SCHED_SLICE_NS / 10);
        if (arch_interrupt_poll() == VECTOR_TIMER) {
            CHECK_EQUAL(test_timer_interrupt(), NONE);
        }
    }
    CHECK_EQUAL(time[0], 0);
    CHECK_EQUAL(time[1], time[2]);
}

/* Direct switches and blocking must not write the alarm. */
static void alarm_is_left_alone(void)
{
    start();
    for (uint32_t i = 0; i < 2; i++) {
        thread_define(FIRST + i, i, 0, 100);
        thread_reset(FIRST + i, NONE);
    }
    sched_ready(FIRST);
    test_reschedule();
    uint64_t writes = hosted_alarm_writes();
    for (uint32_t i = 0; i < 100; i++) {
        sched_prepare_block(thread_current());
        sched_switch_to(FIRST + (i + 1) % 2);
        test_reschedule();
    }
    CHECK_EQUAL(hosted_alarm_writes(), writes);
    CHECK_EQUAL(hosted_switches(), 101);
}

int main(void)
{
    test_random_start();
    against_model();
    fair_turns(0);
    fair_turns(1);
    woken_together_take_turns();
    alarm_is_left_alone();
    return TEST_END();
}
