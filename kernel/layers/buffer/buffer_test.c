/* Bounded buffers: no word is lost, duplicated or reordered, no thread starves, on one CPU and on several; a
 * cancelled writer or reader passes its wake-up on. */
#include <string.h>

#include "abi.h"
#include "arch.h"
#include "buffer.h"
#include "cv.h"
#include "hosted.h"
#include "invariants.h"
#include "process.h"
#include "sched.h"
#include "test.h"
#include "thread.h"
#include "trap.h"
#include "world.h"

#define WRITERS 3u
#define READERS 3u
#define SLOT 5u

static uint64_t items;                  /* each writer inserts */
static uint64_t next[READERS][WRITERS]; /* lowest number that reader r may get from writer w next */
static uint64_t taken[READERS];
static uint64_t sum;
static uint32_t left; /* threads not finished yet */

static void finish(void)
{
    if (__atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST) == 0) {
        world_stop();
    }
    user_call(SYS_THREAD_EXIT, 0, 0, 0, 0, 0);
}

static void program(uint32_t thread)
{
    uint32_t i = thread - NUM_CPU;

    if (i < WRITERS) {
        for (uint64_t n = 1; n <= items; n++) {
            CHECK_EQUAL(user_call(SYS_BUFFER_INSERT, SLOT, (uint64_t)i << 32 | n, 0, 0, 0), STATUS_OK);
        }
        finish();
    }
    uint32_t r = i - WRITERS;
    for (uint64_t n = 0; n < items * WRITERS / READERS; n++) {
        CHECK_EQUAL(user_call(SYS_BUFFER_REMOVE, SLOT, 0, 0, 0, 0), STATUS_OK);
        uint64_t word = user_first();
        uint32_t w = (uint32_t)(word >> 32);
        if (!CHECK(w < WRITERS)) {
            break;
        }
        CHECK((uint32_t)word > next[r][w]); /* one writer's words come in order */
        next[r][w] = (uint32_t)word;
        taken[r]++;
        __atomic_fetch_add(&sum, (uint32_t)word, __ATOMIC_RELAXED);
    }
    finish();
}

/* Every writer and reader is a process with one thread; they are spread over the CPUs. */
static void many_at_once(uint32_t cpus, uint32_t capacity)
{
    world_start(cpus);
    memset(next, 0, sizeof next);
    memset(taken, 0, sizeof taken);
    sum = 0;
    items = test_operations(3000);
    left = WRITERS + READERS;
    buffer_define(2, capacity);
    for (uint32_t p = 0; p < WRITERS + READERS; p++) {
        world_process(p, NONE, 100, p, 1, p, 100, NONE);
        CHECK_EQUAL(process_set_grant(p, SLOT, GRANT_BUFFER, 2, p < WRITERS ? RIGHT_INSERT : RIGHT_REMOVE, 0),
                    STATUS_OK);
        world_create(p);
    }
    for (uint32_t p = 0; p < WRITERS + READERS; p++) {
        world_start_process(p);
    }
    world_run(program);
    CHECK_EQUAL(sum, WRITERS * (items * (items + 1) / 2));
    CHECK_EQUAL(cv_check(), 0);
    CHECK_EQUAL(buffer_check(), 0);
    CHECK_EQUAL(invariants_check(), 0);
}

/* ---- the first waiter is cancelled: the next must be served ---- */

static uint32_t step;

static void ended_program(uint32_t thread)
{
    switch (thread - NUM_CPU) {
    case 0: /* the parent: fills the buffer, lets both children wait, ends the first, makes room */
        CHECK_EQUAL(user_call(SYS_BUFFER_INSERT, SLOT, 7, 0, 0, 0), STATUS_OK);
        user_call(SYS_SLEEP, 1000, 0, 0, 0, 0);
        CHECK_EQUAL(step, 0);
        /* Room for one: the first waiter is woken but, having the least priority, does not run before it is killed. */
        CHECK_EQUAL(user_call(SYS_BUFFER_REMOVE, SLOT, 0, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_first(), 7);
        CHECK_EQUAL(user_call(SYS_PROCESS_KILL, 1, 0, 0, 0, 0), STATUS_OK);
        for (uint64_t i = 2; i < 100 && step == 0; i++) { /* its end takes some interrupts */
            user_call(SYS_SLEEP, 1000 * i, 0, 0, 0, 0);
        }
        CHECK_EQUAL(step, 1);
        CHECK_EQUAL(user_call(SYS_BUFFER_REMOVE, SLOT, 0, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_first(), 200);
        CHECK_EQUAL(user_call(SYS_PROCESS_STATUS, 1, 0, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_first(), PROCESS_EMPTY);
        CHECK_EQUAL(user_second(), END_KILLED);
        world_stop();
        break;
    case 1:
        user_call(SYS_SLEEP, 100, 0, 0, 0, 0); /* until the buffer is full: the order of starting is not specified */
        user_call(SYS_BUFFER_INSERT, SLOT, 100, 0, 0, 0);
        CHECK(0); /* must not return */
        break;
    default:
        user_call(SYS_SLEEP, 200, 0, 0, 0, 0);
        CHECK_EQUAL(user_call(SYS_BUFFER_INSERT, SLOT, 200, 0, 0, 0), STATUS_OK);
        step = 1;
    }
    user_call(SYS_THREAD_EXIT, 0, 0, 0, 0, 0);
}

static void the_first_waiter_ends(void)
{
    world_start(1);
    step = 0;
    buffer_define(2, 1);
    world_process(0, NONE, 400, 0, 1, 0, 200, NONE);
    world_process(1, 0, 100, 1, 1, 0, 100, NONE);
    world_process(2, 0, 100, 2, 1, 0, 90, NONE);
    for (uint32_t p = 0; p < 3; p++) {
        process_set_grant(p, SLOT, GRANT_BUFFER, 2, RIGHT_INSERT | RIGHT_REMOVE, 0);
        world_create(p);
    }
    process_set_grant(0, 1, GRANT_PROCESS, 1, 0, NONE);
    for (uint32_t p = 0; p < 3; p++) {
        world_start_process(p);
    }
    world_run(ended_program);
    CHECK_EQUAL(cv_check(), 0);
    CHECK_EQUAL(invariants_check(), 0);
}

static void refused(void)
{
    world_start(1);
    CHECK_EQUAL(buffer_insert(3, 1), ERR_BAD_STATE);
    CHECK_EQUAL(buffer_remove(3), ERR_BAD_STATE);
}

int main(void)
{
    test_random_start();
    refused();
    many_at_once(1, 1);
    many_at_once(1, 7);
    many_at_once(4, 1);
    many_at_once(3, 16);
    the_first_waiter_ends();
    return TEST_END();
}
