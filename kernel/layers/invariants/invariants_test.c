/* The walk finds nothing in a sound system, and names the layer and the invariant once one is broken. The faults
 * are put in through the layers' own functions, used against their requirements. */
#include "abi.h"
#include "arch.h"
#include "endpoint.h"
#include "frame.h"
#include "hosted.h"
#include "invariants.h"
#include "process.h"
#include "queue.h"
#include "spinlock.h"
#include "test.h"
#include "thread.h"
#include "world.h"

#define FIRST NUM_CPU
#define SEND_SLOT 1u

static void sound(void)
{
    world_start(1);
    world_process(0, NONE, 100, 0, 1, 0, 100, NONE);
    endpoint_define(0, 0, 0);
    endpoint_define(1, 5, 0);
    CHECK_EQUAL(invariants_check(), 0);
    world_create(0);
    CHECK_EQUAL(invariants_check(), 0);
}

/* The first process calls an endpoint that is open although its owner does not exist; the second one looks. */
static void orphan_program(uint32_t thread)
{
    if (thread == FIRST) {
        user_call(SYS_CALL, SEND_SLOT, 0, 0, 0, 0);
        CHECK(0);
    }
    user_call(SYS_NULL, 0, 0, 0, 0, 0); /* the other one starts */
    CHECK_EQUAL(invariants_check(), 99002);
    world_stop();
    user_call(SYS_THREAD_EXIT, 0, 0, 0, 0, 0);
}

static void orphan(void)
{
    world_start(1);
    world_process(0, NONE, 100, 0, 1, 0, 100, NONE);
    world_process(1, NONE, 100, 1, 1, 0, 90, NONE);
    endpoint_define(1, 5, 0);
    endpoint_open(1);
    CHECK_EQUAL(process_set_grant(0, SEND_SLOT, GRANT_ENDPOINT, 1, RIGHT_SEND, 0), STATUS_OK);
    for (uint32_t p = 0; p < 2; p++) {
        world_create(p);
    }
    for (uint32_t p = 0; p < 2; p++) {
        world_start_process(p);
    }
    world_run(orphan_program);
}

int main(void)
{
    CHECK_EQUAL(invariants_available(), 1);
    sound();
    /* A layer's own invariant: stop is layer 26. */
    arch_atomic_store(CELL_STOP_HELD, NUM_CPU);
    CHECK_EQUAL(invariants_check(), 26002);
    /* A sender that its endpoint has not counted. */
    sound();
    queue_enqueue(QUEUE_ENDPOINT_SEND_BASE + 1, FIRST);
    CHECK_EQUAL(invariants_check(), 17009);
    /* Across layers: a sender at an endpoint whose owner does not exist. */
    orphan();
    /* A waiting thread of a process that was not started, and of none. */
    sound();
    thread_set_wait(FIRST, WAIT_SLEEP, NONE);
    CHECK_EQUAL(invariants_check(), 99004);
    sound();
    thread_set_wait(FIRST + 3, WAIT_SLEEP, NONE);
    CHECK_EQUAL(invariants_check(), 99003);
    return TEST_END();
}
