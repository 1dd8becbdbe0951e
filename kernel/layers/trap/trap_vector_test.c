/* No thread is left while the vector unit holds its state, whatever it is that switches: the hosted arch_switch fails the test
 * else. A call that leaves the unit first is made again and does the same as without. */
#include "abi.h"
#include "arch.h"
#include "endpoint.h"
#include "hosted.h"
#include "invariants.h"
#include "notify.h"
#include "process.h"
#include "test.h"
#include "world.h"

#define MESSAGE_SLOT 2u
#define WAKE_SLOT 3u
#define BACK_SLOT 4u
#define E 5u
#define ROUNDS 4u
#define VECTOR_UD 6u
#define VECTOR_NM 7u /* first use of the vector unit since a switch */

static uint32_t faults;

/* A system call of a thread that has used the vector unit. */
static uint32_t call(uint32_t number, uint64_t a, uint64_t b, uint64_t w0)
{
    user_exception(VECTOR_NM, 0, 0);
    CHECK_EQUAL(arch_fpu_left(), 0);
    return user_call(number, a, b, w0, 0, 0);
}

static void leave(void)
{
    call(SYS_THREAD_EXIT, 0, 0, 0);
}

static void server(void)
{
    CHECK_EQUAL(call(SYS_RECV, MESSAGE_SLOT, 0, 0), STATUS_OK);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        CHECK_EQUAL(user_second(), 1);
        CHECK_EQUAL(user_word(0), 100 + i);
        if (i % 2 == 0) {
            CHECK_EQUAL(call(SYS_REPLY_RECV, MESSAGE_SLOT, 1, 200 + i), STATUS_OK);
        } else {
            CHECK_EQUAL(call(SYS_REPLY, 0, 1, 200 + i), STATUS_OK);
            CHECK_EQUAL(call(SYS_RECV, MESSAGE_SLOT, 0, 0), STATUS_OK);
        }
    }
    CHECK_EQUAL(user_word(0), 300); /* sent; then a fault */
    CHECK_EQUAL(call(SYS_RECV, MESSAGE_SLOT, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_word(0), VECTOR_UD);
    faults++;
    CHECK_EQUAL(call(SYS_REPLY, 0, 1, FAULT_RETRY), STATUS_OK);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        CHECK_EQUAL(call(SYS_WAIT, WAKE_SLOT, NOTIFY_FOREVER, i == 0 ? 0 : 1 + BACK_SLOT), STATUS_OK);
        CHECK_EQUAL(user_first(), 1);
    }
    CHECK_EQUAL(call(SYS_SIGNAL, BACK_SLOT, 0, 0), STATUS_OK);
    leave();
}

static void client(void)
{
    for (uint32_t i = 0; i < ROUNDS; i++) {
        CHECK_EQUAL(call(SYS_CALL, MESSAGE_SLOT, 1, 100 + i), STATUS_OK);
        CHECK_EQUAL(user_word(0), 200 + i);
    }
    CHECK_EQUAL(call(SYS_SEND, MESSAGE_SLOT, 1, 300), STATUS_OK);
    user_exception(VECTOR_NM, 0, 0);
    user_exception(VECTOR_UD, 0, 0);
    CHECK_EQUAL(faults, 1);
    CHECK_EQUAL(call(SYS_SIGNAL, WAKE_SLOT, 0, 0), STATUS_OK);
    for (uint32_t i = 1; i < ROUNDS; i++) {
        CHECK_EQUAL(call(SYS_WAIT, BACK_SLOT, arch_clock_ns() + 1000000, 1 + WAKE_SLOT), STATUS_OK);
        CHECK_EQUAL(user_first(), 1);
    }
    CHECK_EQUAL(call(SYS_SLEEP, arch_clock_ns() + 1000, 0, 0), STATUS_OK);
    CHECK_EQUAL(call(SYS_YIELD, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(call(SYS_CLOCK, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(arch_fpu_left(), 0); /* it does not switch */
    world_stop();
    leave();
}

static void program(uint32_t thread)
{
    if (thread == NUM_CPU) {
        client();
    }
    server();
}

int main(void)
{
    world_start(1);
    endpoint_define(E, 1, 0);
    notify_define(0, 0);
    notify_define(1, 1);
    world_process(0, NONE, 60, 0, 1, 0, 100, E);
    world_process(1, NONE, 60, 4, 1, 0, 110, NONE);
    process_set_grant(0, MESSAGE_SLOT, GRANT_ENDPOINT, E, RIGHT_SEND, 0);
    process_set_grant(0, WAKE_SLOT, GRANT_NOTIFICATION, 1, RIGHT_SIGNAL, 1);
    process_set_grant(0, BACK_SLOT, GRANT_NOTIFICATION, 0, RIGHT_WAIT, 0);
    process_set_grant(1, MESSAGE_SLOT, GRANT_ENDPOINT, E, RIGHT_RECV, 0);
    process_set_grant(1, WAKE_SLOT, GRANT_NOTIFICATION, 1, RIGHT_WAIT, 0);
    process_set_grant(1, BACK_SLOT, GRANT_NOTIFICATION, 0, RIGHT_SIGNAL, 1);
    world_create(1);
    world_start_process(1);
    world_create(0);
    world_start_process(0);
    world_run(program);
    CHECK_EQUAL(invariants_check(), 0);
    return TEST_END();
}
