/* Teardown step by step: what each stage returns, that every step is followed by progress, and that a process ends only
 * after its children. */
#include "abi.h"
#include "arch.h"
#include "container.h"
#include "endpoint.h"
#include "frame.h"
#include "hosted.h"
#include "invariants.h"
#include "irq.h"
#include "notify.h"
#include "process.h"
#include "share.h"
#include "teardown.h"
#include "test.h"
#include "world.h"

#define HERE 0x10000000ul
#define PAGES 5u
#define LINE 9u
#define CHILD_SLOT 10u
#define STEPS                                                                                                          \
    (NUM_ENDPOINT + NUM_GRANT + NUM_PROCESS + 9u * 512u) /* more than this process, with its 8 tables, needs */

/* The steps are made from outside, before any thread of the process runs. */
static void stage_by_stage(void)
{
    world_start(1);
    endpoint_define(3, 0, 0);
    notify_define(2, 0);
    share_define(1, 0, 4);
    world_process(0, NONE, 100, 0, 1, 0, 100, NONE);
    CHECK_EQUAL(process_set_grant(0, 1, GRANT_NOTIFICATION, 2, RIGHT_WAIT, 0), STATUS_OK);
    CHECK_EQUAL(process_set_grant(0, 2, GRANT_IRQ, LINE, 0, 2), STATUS_OK);
    irq_define(LINE, 2, 4, 0, 0);
    world_create(0);
    for (uint32_t i = 0; i < PAGES; i++) {
        uint32_t status = STATUS_RESTART;
        while (status == STATUS_RESTART) {
            status = process_map_page(0, HERE + i * 4096, PROT_READ | PROT_WRITE);
        }
        CHECK_EQUAL(status, STATUS_OK);
    }
    CHECK_EQUAL(process_offer_page(0, 1, HERE, PROT_READ), STATUS_OK);
    CHECK_EQUAL(irq_ack(LINE), STATUS_OK);
    CHECK_EQUAL(hosted_line_open(LINE), 1);
    notify_signal(2, 7);
    uint32_t before = container_usage(0);
    CHECK(before > PAGES);

    uint32_t stage = process_stage(0);
    while (stage < NUM_ENDPOINT + 4) { /* endpoints, refusals and the first grants */
        CHECK_EQUAL(teardown_step(0), 1);
        CHECK(process_stage(0) >= stage && process_stage(0) <= stage + 1);
        stage = process_stage(0);
    }
    CHECK_EQUAL(hosted_line_open(LINE), 0);
    CHECK_EQUAL(notify_poll(2), 0);
    CHECK_EQUAL(container_usage(0), before); /* memory comes last */
    CHECK_EQUAL(share_withdraw(1, 0), STATUS_OK);
    CHECK_EQUAL(process_offer_page(0, 1, HERE, PROT_READ), STATUS_OK);
    while (stage <= NUM_ENDPOINT + 1 + NUM_GRANT + NUM_PROCESS) { /* children and shares */
        CHECK_EQUAL(teardown_step(0), 1);
        stage = process_stage(0);
    }
    CHECK_EQUAL(share_withdraw(1, 0), ERR_BAD_STATE); /* the offer is gone */
    CHECK_EQUAL(container_usage(0), before);
    uint32_t steps = 0;
    while (teardown_step(0) == 1 && steps < STEPS) {
        steps++;
    }
    CHECK(steps > 0 && steps < STEPS);
    CHECK_EQUAL(container_usage(0), 0);
    CHECK_EQUAL(frame_free_count(), WORLD_FRAMES);
}

/* A parent ends while its child runs. */
static void family_program(uint32_t thread)
{
    if (thread == NUM_CPU) {
        CHECK_EQUAL(user_call(SYS_PROCESS_CREATE, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_call(SYS_PROCESS_START, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK);
        user_call(SYS_SLEEP, 1000, 0, 0, 0, 0);
        CHECK_EQUAL(process_state(1), PROCESS_RUNNING);
        world_stop();
        user_call(SYS_PROCESS_EXIT, 3, 0, 0, 0, 0);
    }
    CHECK_EQUAL(user_call(SYS_MEM_MAP, HERE, PAGES, PROT_READ, 0, 0), STATUS_OK);
    user_call(SYS_SLEEP, NOTIFY_FOREVER, 0, 0, 0, 0);
}

static void children_end_first(void)
{
    world_start(1);
    world_process(0, NONE, 100, 0, 1, 0, 100, NONE);
    world_process(1, 0, 40, 4, 1, 0, 90, NONE);
    CHECK_EQUAL(process_set_grant(0, CHILD_SLOT, GRANT_PROCESS, 1, 0, NONE), STATUS_OK);
    world_create(0);
    world_start_process(0);
    world_run(family_program);
    CHECK_EQUAL(process_state(1), PROCESS_EMPTY);
    CHECK_EQUAL(process_end_cause(1), END_KILLED);
    CHECK_EQUAL(process_state(0), PROCESS_EMPTY);
    CHECK_EQUAL(process_end_cause(0), END_EXIT | 3 << 8);
    CHECK_EQUAL(frame_free_count(), WORLD_FRAMES);
    CHECK_EQUAL(invariants_check(), 0);
}

/* Events of a life end with it: bits that were not taken, the death of children, signals to a process that is not there. */
#define EVENTS 2u
#define EVENT_SLOT 1u

static uint64_t bits_at_start[2];
static uint32_t lives;

static void lives_program(uint32_t thread)
{
    if (thread != NUM_CPU) {
        user_call(SYS_SLEEP, NOTIFY_FOREVER, 0, 0, 0, 0);
    }
    CHECK_EQUAL(user_call(SYS_POLL, EVENT_SLOT, 0, 0, 0, 0), STATUS_OK);
    bits_at_start[lives] = user_first();
    if (lives == 1) {
        world_stop();
        user_call(SYS_PROCESS_EXIT, 0, 0, 0, 0, 0);
    }
    CHECK_EQUAL(user_call(SYS_PROCESS_CREATE, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_call(SYS_PROCESS_START, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK);
    user_call(SYS_SLEEP, 1000, 0, 0, 0, 0);
    notify_signal(EVENTS, 4); /* of its life, and not taken */
    world_stop();
    user_call(SYS_PROCESS_EXIT, 0, 0, 0, 0, 0); /* its child's death signals */
}

static void events_end_with_a_life(void)
{
    world_start(1);
    notify_define(EVENTS, 0);
    world_process(0, NONE, 100, 0, 1, 0, 100, NONE);
    world_process(1, 0, 40, 4, 1, 0, 90, NONE);
    CHECK_EQUAL(process_set_grant(0, EVENT_SLOT, GRANT_NOTIFICATION, EVENTS, RIGHT_WAIT, 0), STATUS_OK);
    CHECK_EQUAL(process_set_grant(0, CHILD_SLOT, GRANT_PROCESS, 1, 0, EVENTS), STATUS_OK);
    notify_signal(EVENTS, 1); /* before it exists */
    for (lives = 0; lives < 2; lives++) {
        world_create(0);
        if (lives == 0) {
            notify_signal(EVENTS, 8); /* from its creation on it is there */
        }
        world_start_process(0);
        world_run(lives_program);
        CHECK_EQUAL(process_state(0), PROCESS_EMPTY);
        notify_signal(EVENTS, 2); /* after its death */
        CHECK_EQUAL(notify_pending(EVENTS), 0);
    }
    CHECK_EQUAL(bits_at_start[0], 8);
    CHECK_EQUAL(bits_at_start[1], 0);
    CHECK_EQUAL(invariants_check(), 0);
}

int main(void)
{
    stage_by_stage();
    children_end_first();
    events_end_with_a_life();
    return TEST_END();
}
