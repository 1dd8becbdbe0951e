/* The walk finds nothing in a sound system, and names the layer and the invariant once one is broken. The faults
 * are put in through the layers' own functions, used against their requirements. */
#include "abi.h"
#include "arch.h"
#include "endpoint.h"
#include "frame.h"
#include "hosted.h"
#include "invariants.h"
#include "queue.h"
#include "spinlock.h"
#include "test.h"
#include "thread.h"
#include "world.h"

#define FIRST NUM_CPU

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

int main(void)
{
    CHECK_EQUAL(invariants_available(), 1);
    sound();
    /* A layer's own invariant: stop is layer 26. */
    arch_atomic_store(CELL_STOP_HELD, NUM_CPU);
    CHECK_EQUAL(invariants_check(), 26002);
    /* Across layers: a sender at an endpoint whose owner does not exist. */
    sound();
    queue_enqueue(QUEUE_ENDPOINT_SEND_BASE + 1, FIRST);
    CHECK_EQUAL(invariants_check(), 99002);
    /* A waiting thread of a process that was not started, and of none. */
    sound();
    thread_set_wait(FIRST, WAIT_SLEEP, NONE);
    CHECK_EQUAL(invariants_check(), 99004);
    sound();
    thread_set_wait(FIRST + 3, WAIT_SLEEP, NONE);
    CHECK_EQUAL(invariants_check(), 99003);
    return TEST_END();
}
