/* Kernel entry and exit: faults as messages and the effect of replies, a fault without handler or whose handler
 * ends, first use of the vector unit, threads that end, processes of several threads, a caller that is ended before its
 * call returns, lines that hand over. */
#include "abi.h"
#include "arch.h"
#include "endpoint.h"
#include "hosted.h"
#include "intc.h"
#include "invariants.h"
#include "irq.h"
#include "notify.h"
#include "process.h"
#include "test.h"
#include "thread.h"
#include "uctx.h"
#include "world.h"

#define RECV_SLOT 2u
#define CHILD_SLOT 3u
#define WAIT_SLOT 4u
#define E 5u
#define KILL_LINE 9u
#define VECTOR_UD 6u
#define VECTOR_PF 14u

static uint32_t survived;

static void leave(void)
{
    user_call(SYS_THREAD_EXIT, 0, 0, 0, 0, 0);
}

static void answer(uint32_t n, uint64_t action, uint64_t ip)
{
    user_call(SYS_REPLY_RECV, RECV_SLOT, n, action, ip, 0);
}

/* The handler checks each message; the replies are: retry, skip, skip to a kernel address. */
static void handler(uint32_t faulter)
{
    user_call(SYS_RECV, RECV_SLOT, 0, 0, 0, 0);
    CHECK_EQUAL(user_first(), FAULT_BADGE | faulter);
    CHECK_EQUAL(user_second(), FAULT_WORDS);
    CHECK_EQUAL(user_word(0), VECTOR_PF);
    CHECK_EQUAL(user_word(1), 7);
    CHECK_EQUAL(user_word(2), 0xdeadb000);
    CHECK_EQUAL(user_word(3), 0x400002);
    CHECK_EQUAL(user_word(4), 0x7777);
    answer(1, FAULT_RETRY, 0);
    CHECK_EQUAL(user_word(0), VECTOR_UD);
    answer(2, FAULT_SKIP, 0x500000);
    answer(2, FAULT_SKIP, 0xffffffff80000000ul);
    /* That ended the child; the parent ends the test. */
    user_call(SYS_SLEEP, NOTIFY_FOREVER, 0, 0, 0, 0);
}

static void program(uint32_t thread)
{
    if (thread == NUM_CPU) { /* the parent */
        CHECK_EQUAL(user_call(SYS_WAIT, WAIT_SLOT, NOTIFY_FOREVER, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_first(), 1ul << CHILD_SLOT);
        CHECK_EQUAL(user_call(SYS_PROCESS_STATUS, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_first(), PROCESS_EMPTY);
        CHECK_EQUAL(user_second(), END_FAULT | VECTOR_UD << 8);
        world_stop();
        leave();
    }
    if (thread == NUM_CPU + 1) {
        handler(NUM_CPU + 2);
    }
    uctx_set(thread, UCTX_RSP, 0x7777);
    uctx_set(thread, UCTX_RBX, 0x1234);
    uctx_set(thread, UCTX_RIP, 0x400002);
    user_exception(VECTOR_PF, 7, 0xdeadb000);
    CHECK_EQUAL(uctx_get(thread, UCTX_RIP), 0x400002);
    CHECK_EQUAL(uctx_get(thread, UCTX_RBX), 0x1234); /* the reply does not change the registers */
    uint64_t rdx = uctx_get(thread, UCTX_RDX);
    user_exception(VECTOR_UD, 0, 0);
    CHECK_EQUAL(uctx_get(thread, UCTX_RIP), 0x500000);
    CHECK_EQUAL(uctx_get(thread, UCTX_RDX), rdx);
    user_exception(7, 0, 0); /* no fault: the vector unit */
    CHECK_EQUAL(hosted_fpu_uses(), 1);
    survived = 1;
    user_exception(VECTOR_UD, 0, 0);
    CHECK(0);
}

/* Process 0 waits for the death of process 2, whose faults process 1 handles. */
static void run_with_handler(void (*program)(uint32_t thread))
{
    world_start(1);
    endpoint_define(E, 1, 0);
    notify_define(0, 0);
    world_process(0, NONE, 300, 0, 1, 0, 150, NONE);
    world_process(1, NONE, 100, 1, 1, 0, 120, NONE);
    world_process(2, 0, 100, 2, 1, 0, 100, E);
    irq_define(KILL_LINE, 0, 1, 0, 0);
    process_set_grant(0, CHILD_SLOT, GRANT_PROCESS, 2, 0, 0);
    process_set_grant(0, WAIT_SLOT, GRANT_NOTIFICATION, 0, RIGHT_WAIT, 0);
    process_set_grant(1, RECV_SLOT, GRANT_ENDPOINT, E, RIGHT_RECV, 0);
    for (uint32_t p = 0; p < 3; p++) {
        world_create(p);
    }
    for (uint32_t p = 0; p < 3; p++) {
        world_start_process(p);
    }
    CHECK_EQUAL(irq_ack(KILL_LINE), STATUS_OK);
    world_run(program);
    CHECK_EQUAL(invariants_check(), 0);
}

static void faults(void)
{
    survived = 0;
    run_with_handler(program);
    CHECK_EQUAL(survived, 1);
}

/* ---- a process that is ended in the window before its thread's fault is sent: no message is sent ---- */

static void killed_program(uint32_t thread)
{
    if (thread == NUM_CPU) { /* the parent */
        CHECK_EQUAL(user_call(SYS_WAIT, WAIT_SLOT, NOTIFY_FOREVER, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_first(), 1);
        CHECK_EQUAL(user_call(SYS_PROCESS_KILL, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_call(SYS_WAIT, WAIT_SLOT, NOTIFY_FOREVER, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_call(SYS_PROCESS_STATUS, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_first(), PROCESS_EMPTY);
        CHECK_EQUAL(user_second(), END_KILLED);
        world_stop();
        leave();
    }
    if (thread == NUM_CPU + 1) {
        user_call(SYS_RECV, RECV_SLOT, 0, 0, 0, 0);
        CHECK(0);
    }
    /* The unit is in use: its state is saved before the message is sent, and a window follows. */
    user_exception(7, 0, 0);
    hosted_raise_line(KILL_LINE);
    user_exception(VECTOR_UD, 0, 0);
    CHECK(0);
}

static void killed(void)
{
    run_with_handler(killed_program);
}

/* ---- a handler that ends with a fault in hand: the process ends as if it had none ---- */

static void left_program(uint32_t thread)
{
    if (thread == NUM_CPU) {
        CHECK_EQUAL(user_call(SYS_WAIT, WAIT_SLOT, NOTIFY_FOREVER, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_call(SYS_PROCESS_STATUS, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_first(), PROCESS_EMPTY);
        CHECK_EQUAL(user_second(), END_FAULT | VECTOR_PF << 8);
        survived = 1;
        world_stop();
        leave();
    }
    if (thread == NUM_CPU + 1) {
        user_call(SYS_RECV, RECV_SLOT, 0, 0, 0, 0);
        CHECK_EQUAL(user_first(), FAULT_BADGE | (NUM_CPU + 2));
        leave();
    }
    user_exception(VECTOR_PF, 7, 0xdeadb000);
    CHECK(0);
}

static void left(void)
{
    survived = 0;
    run_with_handler(left_program);
    CHECK_EQUAL(survived, 1);
}

/* ---- no handler: the process ends, with its threads on every CPU ---- */

static void unhandled_program(uint32_t thread)
{
    if (thread == NUM_CPU) {
        CHECK_EQUAL(user_call(SYS_WAIT, WAIT_SLOT, NOTIFY_FOREVER, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_call(SYS_PROCESS_STATUS, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_first(), PROCESS_EMPTY);
        CHECK_EQUAL(user_second(), END_FAULT | VECTOR_PF << 8);
        world_stop();
        leave();
    }
    if (thread == NUM_CPU + 4) {
        for (uint32_t i = 1; i < 4; i++) {
            CHECK_EQUAL(user_call(SYS_THREAD_START, i, USER_BASE, USER_BASE, i, 0), STATUS_OK);
        }
        CHECK_EQUAL(user_call(SYS_THREAD_START, 1, USER_END, USER_BASE, 0, 0), ERR_BAD_ADDRESS);
        CHECK_EQUAL(user_call(SYS_THREAD_START, 1, USER_BASE, USER_END + 1, 0, 0), ERR_BAD_ADDRESS);
        CHECK_EQUAL(user_call(SYS_THREAD_START, 0, USER_BASE, USER_BASE, 0, 0), ERR_BAD_ARGUMENT);
        CHECK_EQUAL(user_call(SYS_THREAD_START, 4, USER_BASE, USER_BASE, 0, 0), ERR_BAD_ARGUMENT);
        user_call(SYS_SLEEP, arch_clock_ns() + 2000000, 0, 0, 0, 0);
        user_exception(VECTOR_PF, 0, 0);
        CHECK(0);
    }
    if (thread == NUM_CPU + 5) { /* ends by itself, before */
        leave();
    }
    for (;;) { /* one that never stops and one that sleeps */
        if (thread == NUM_CPU + 6) {
            user_call(SYS_NULL, 0, 0, 0, 0, 0);
        } else {
            user_call(SYS_SLEEP, NOTIFY_FOREVER, 0, 0, 0, 0);
        }
    }
}

static void unhandled(uint32_t cpus)
{
    world_start(cpus);
    notify_define(0, 0);
    world_process(0, NONE, 300, 0, 1, 0, 150, NONE);
    world_process(1, 0, 100, 4, 4, 0, 100, NONE);
    process_set_grant(0, CHILD_SLOT, GRANT_PROCESS, 1, 0, 0);
    process_set_grant(0, WAIT_SLOT, GRANT_NOTIFICATION, 0, RIGHT_WAIT, 0);
    for (uint32_t p = 0; p < 2; p++) {
        world_create(p);
    }
    for (uint32_t p = 0; p < 2; p++) {
        world_start_process(p);
    }
    world_run(unhandled_program);
    CHECK_EQUAL(invariants_check(), 0);
}

/* ---- a caller that has its reply and waits for the processor is ended: its call does not return ---- */

#define SEND_SLOT 5u

static uint32_t returned;

static void ended_caller_program(uint32_t thread)
{
    if (thread == NUM_CPU) { /* the parent, woken by the server */
        CHECK_EQUAL(user_call(SYS_WAIT, WAIT_SLOT, NOTIFY_FOREVER, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_call(SYS_PROCESS_KILL, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_call(SYS_WAIT, WAIT_SLOT, NOTIFY_FOREVER, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_call(SYS_PROCESS_STATUS, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_first(), PROCESS_EMPTY);
        world_stop();
        leave();
    }
    if (thread == NUM_CPU + 1) { /* answers, and wakes the parent before the caller runs */
        CHECK_EQUAL(user_call(SYS_RECV, RECV_SLOT, 0, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_call(SYS_REPLY, 0, 0, 0, 0, 0), STATUS_OK);
        user_call(SYS_SIGNAL, SEND_SLOT, 0, 0, 0, 0);
        user_call(SYS_SLEEP, NOTIFY_FOREVER, 0, 0, 0, 0);
    }
    user_call(SYS_NULL, 0, 0, 0, 0, 0); /* the server starts, and waits */
    user_call(SYS_CALL, SEND_SLOT, 0, 0, 0, 0);
    returned = 1;
    user_call(SYS_SLEEP, NOTIFY_FOREVER, 0, 0, 0, 0);
}

static void ended_caller(void)
{
    world_start(1);
    returned = 0;
    endpoint_define(E, 1, 0);
    notify_define(0, 0);
    world_process(0, NONE, 300, 0, 1, 0, 150, NONE);
    world_process(1, NONE, 100, 1, 1, 0, 120, NONE);
    world_process(2, 0, 100, 2, 1, 0, 100, NONE);
    process_set_grant(0, CHILD_SLOT, GRANT_PROCESS, 2, 0, 0);
    process_set_grant(0, WAIT_SLOT, GRANT_NOTIFICATION, 0, RIGHT_WAIT, 0);
    process_set_grant(1, RECV_SLOT, GRANT_ENDPOINT, E, RIGHT_RECV, 0);
    process_set_grant(1, SEND_SLOT, GRANT_NOTIFICATION, 0, RIGHT_SIGNAL, 1);
    process_set_grant(2, SEND_SLOT, GRANT_ENDPOINT, E, RIGHT_SEND, 0);
    for (uint32_t p = 0; p < 3; p++) {
        world_create(p);
    }
    for (uint32_t p = 0; p < 3; p++) {
        world_start_process(p);
    }
    world_run(ended_caller_program);
    CHECK_EQUAL(returned, 0);
    CHECK_EQUAL(invariants_check(), 0);
}

/* ---- two lines that wait at a window: the thread of the one that is served first is switched to before the other is served,
 * also if the other's is more important: that is one switch more ---- */

#define LINE 7u

static uint64_t lines_switches;

static void lines_program(uint32_t thread)
{
    if (thread == NUM_CPU) {
        user_call(SYS_NULL, 0, 0, 0, 0, 0); /* the others wait */
        uint64_t before = hosted_switches();
        hosted_raise_line(LINE);
        hosted_raise_line(LINE + 1);
        user_call(SYS_QUOTA, 0, 0, 0, 0, 0);
        lines_switches += hosted_switches() - before;
        world_stop();
        leave();
    }
    CHECK_EQUAL(user_call(SYS_WAIT, WAIT_SLOT, NOTIFY_FOREVER, 0, 0, 0), STATUS_OK);
    leave();
}

static void lines_hand_over(uint32_t first, uint32_t second)
{
    world_start(1);
    world_process(0, NONE, 300, 0, 1, 0, 50, NONE);
    for (uint32_t p = 1; p < 3; p++) {
        notify_define(p, p);
        world_process(p, NONE, 100, p, 1, 0, p == 1 ? first : second, NONE);
        process_set_grant(p, WAIT_SLOT, GRANT_NOTIFICATION, p, RIGHT_WAIT, 0);
        irq_define(LINE + p - 1, p, 1, 0, 0);
    }
    for (uint32_t p = 0; p < 3; p++) {
        world_create(p);
    }
    for (uint32_t p = 0; p < 3; p++) {
        world_start_process(p);
    }
    CHECK_EQUAL(irq_ack(LINE), STATUS_OK);
    CHECK_EQUAL(irq_ack(LINE + 1), STATUS_OK);
    world_run(lines_program);
    CHECK_EQUAL(invariants_check(), 0);
}

int main(void)
{
    lines_hand_over(101, 102);
    lines_hand_over(102, 101);
    CHECK_EQUAL(lines_switches, 3 + 4);
    faults();
    killed();
    left();
    ended_caller();
    unhandled(3);
    unhandled(4);
    return TEST_END();
}
