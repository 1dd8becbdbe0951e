/* Notifications: bits are kept and taken together, deadlines, several waiters, cancelling a waiter, watching CPUs, no
 * wake-up lost across CPUs. */
#include "abi.h"
#include "arch.h"
#include "hosted.h"
#include "invariants.h"
#include "notify.h"
#include "process.h"
#include "sched.h"
#include "test.h"
#include "thread.h"
#include "uctx.h"
#include "world.h"

#define WAIT_SLOT 3u
#define SIGNAL_SLOT 4u
#define N 9u

static void grants(uint32_t p, uint32_t rights, uint64_t bits)
{
    CHECK_EQUAL(process_set_grant(p, WAIT_SLOT, GRANT_NOTIFICATION, N, rights, bits), STATUS_OK);
}

static void leave(void)
{
    user_call(SYS_THREAD_EXIT, 0, 0, 0, 0, 0);
}

/* ---- one CPU ---- */

static void program(uint32_t thread)
{
    if (thread == NUM_CPU + 1) { /* signals at 5000 and 9000, bits 2 */
        user_call(SYS_SLEEP, 5000, 0, 0, 0, 0);
        CHECK_EQUAL(user_call(SYS_WAIT, WAIT_SLOT, 0, 0, 0, 0), ERR_BAD_SLOT); /* may only signal */
        CHECK_EQUAL(user_call(SYS_SIGNAL, WAIT_SLOT, 0, 0, 0, 0), STATUS_OK);
        user_call(SYS_SLEEP, 9000, 0, 0, 0, 0);
        CHECK_EQUAL(user_call(SYS_SIGNAL, WAIT_SLOT, 0, 0, 0, 0), STATUS_OK);
        leave();
    }
    CHECK_EQUAL(user_call(SYS_SIGNAL, WAIT_SLOT, 0, 0, 0, 0), ERR_BAD_SLOT);
    CHECK_EQUAL(user_call(SYS_SIGNAL, SIGNAL_SLOT, 0, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_call(SYS_SIGNAL, SIGNAL_SLOT, 0, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_call(SYS_POLL, WAIT_SLOT, 0, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_first(), 0x30); /* twice is once */
    CHECK_EQUAL(user_call(SYS_POLL, WAIT_SLOT, 0, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_first(), 0);
    /* A deadline in the past is a poll; on a time-out rdi keeps its value. */
    CHECK_EQUAL(user_call(SYS_WAIT, WAIT_SLOT, 0, 0, 0, 0), ERR_TIMEOUT);
    CHECK_EQUAL(user_first(), WAIT_SLOT);
    CHECK_EQUAL(arch_clock_ns(), 0);
    CHECK_EQUAL(user_call(SYS_WAIT, WAIT_SLOT, 3000, 0, 0, 0), ERR_TIMEOUT);
    CHECK(arch_clock_ns() >= 3000 && arch_clock_ns() < 5000);
    /* Signalled before the deadline; the deadline must not strike afterwards. */
    CHECK_EQUAL(user_call(SYS_WAIT, WAIT_SLOT, 6000, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_first(), 2);
    CHECK_EQUAL(arch_clock_ns(), 5000);
    CHECK_EQUAL(user_call(SYS_WAIT, WAIT_SLOT, NOTIFY_FOREVER, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_first(), 2);
    CHECK_EQUAL(arch_clock_ns(), 9000);
    /* Bits set meanwhile are all taken at once. */
    notify_signal(N, 1);
    notify_signal(N, 0x80);
    CHECK_EQUAL(notify_pending(N), 1);
    CHECK_EQUAL(user_call(SYS_WAIT, WAIT_SLOT, 0, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_first(), 0x81);
    CHECK_EQUAL(notify_pending(N), 0);
    /* Signals first, here the notification that it waits for. If the signal is refused, the call does not wait. */
    CHECK_EQUAL(user_call(SYS_WAIT, WAIT_SLOT, 0, 1 + SIGNAL_SLOT, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_first(), 0x30);
    CHECK_EQUAL(user_call(SYS_WAIT, WAIT_SLOT, NOTIFY_FOREVER, 1 + WAIT_SLOT, 0, 0), ERR_BAD_SLOT);
    CHECK_EQUAL(user_call(SYS_WAIT, WAIT_SLOT, NOTIFY_FOREVER, 1 + 64, 0, 0), ERR_BAD_SLOT);
    CHECK_EQUAL(user_call(SYS_WAIT, SIGNAL_SLOT, NOTIFY_FOREVER, 1 + SIGNAL_SLOT, 0, 0), ERR_BAD_SLOT);
    CHECK_EQUAL(notify_pending(N), 0);
    CHECK_EQUAL(invariants_check(), 0);
    world_stop();
    leave();
}

static void on_one_cpu(void)
{
    world_start(1);
    notify_define(N, 0);
    CHECK_EQUAL(notify_owner(N), 0);
    CHECK_EQUAL(notify_owner(N + 1), NONE);
    world_process(0, NONE, 100, 0, 1, 0, 150, NONE);
    world_process(1, NONE, 100, 1, 1, 0, 100, NONE);
    grants(0, RIGHT_WAIT, 0);
    CHECK_EQUAL(process_set_grant(0, SIGNAL_SLOT, GRANT_NOTIFICATION, N, RIGHT_SIGNAL, 0x30), STATUS_OK);
    CHECK_EQUAL(process_set_grant(1, WAIT_SLOT, GRANT_NOTIFICATION, N, RIGHT_WAIT, 0), ERR_BAD_ARGUMENT);
    grants(1, RIGHT_SIGNAL, 2);
    for (uint32_t p = 0; p < 2; p++) {
        world_create(p);
        world_start_process(p);
    }
    world_run(program);
    CHECK_EQUAL(invariants_check(), 0);
}

/* ---- several threads wait: each signal wakes the one that has waited longest; deadlines take others out ---- */

static uint32_t order[8];
static uint32_t num_woken;

static void waiters_program(uint32_t thread)
{
    uint32_t index = thread - NUM_CPU;

    if (index == 5) { /* the signaller */
        user_call(SYS_SLEEP, 5000, 0, 0, 0, 0);
        CHECK_EQUAL(invariants_check(), 0);
        for (uint32_t i = 0; i < 3; i++) {
            CHECK_EQUAL(user_call(SYS_SIGNAL, WAIT_SLOT, 0, 0, 0, 0), STATUS_OK);
            CHECK_EQUAL(invariants_check(), 0);
        }
        world_stop();
        leave();
    }
    if (index == 0) { /* the process's first thread starts the others */
        for (uint32_t i = 1; i <= 4; i++) {
            CHECK_EQUAL(user_call(SYS_THREAD_START, i, USER_BASE, USER_BASE, i, 0), STATUS_OK);
            user_call(SYS_YIELD, 0, 0, 0, 0, 0);
        }
        leave();
    }
    for (;;) {
        uint64_t deadline = index == 1 ? 2000 : index == 3 ? 3000 : NOTIFY_FOREVER;
        uint32_t status = user_call(SYS_WAIT, WAIT_SLOT, deadline, 0, 0, 0);
        CHECK_EQUAL(status, index % 2 == 1 ? ERR_TIMEOUT : STATUS_OK);
        order[num_woken++] = index;
        if (index % 2 == 1) {
            leave();
        }
    }
}

static void several_waiters(void)
{
    static const uint32_t expected[] = {1, 3, 2, 4, 2};

    world_start(1);
    num_woken = 0;
    notify_define(N, 0);
    world_process(0, NONE, 200, 0, 5, 0, 150, NONE);
    world_process(1, NONE, 100, 5, 1, 0, 100, NONE);
    grants(0, RIGHT_WAIT, 0);
    grants(1, RIGHT_SIGNAL, 2);
    for (uint32_t p = 0; p < 2; p++) {
        world_create(p);
        world_start_process(p);
    }
    world_run(waiters_program);
    CHECK_EQUAL(num_woken, 5);
    for (uint32_t i = 0; i < num_woken; i++) {
        CHECK_EQUAL(order[i], expected[i]);
    }
    CHECK_EQUAL(invariants_check(), 0);
}

/* ---- watching: a CPU that runs a guest is interrupted by a signal from another ---- */
static void watching(void)
{
    world_start(2);
    notify_define(N, 0);
    notify_signal(N, 2);
    CHECK_EQUAL(notify_pending(N), 0); /* its owner does not live */
    notify_open(N);
    hosted_set_cpu(1);
    CHECK_EQUAL(notify_watch(N), 0);
    hosted_set_cpu(0);
    notify_signal(N, 4);
    CHECK_EQUAL(hosted_raised(1, VECTOR_RESCHEDULE), 1);
    hosted_lower(1, VECTOR_RESCHEDULE);
    hosted_set_cpu(1);
    notify_unwatch(N);
    CHECK_EQUAL(notify_watch(N), 1); /* set already */
    notify_unwatch(N);
    hosted_set_cpu(0);
    notify_signal(N, 8);
    CHECK_EQUAL(hosted_raised(1, VECTOR_RESCHEDULE), 0);
    CHECK_EQUAL(notify_poll(N), 12);
    notify_signal(N, 8);
    notify_close(N);
    CHECK_EQUAL(notify_pending(N), 0);
    notify_signal(N, 8);
    CHECK_EQUAL(notify_pending(N), 0);
    notify_open(N);
    CHECK_EQUAL(notify_pending(N), 0);
}

/* ---- across CPUs: a token circulates, each step a wait with or without a deadline ---- */

#define RING 4u
static uint64_t rounds;
static uint32_t left;

static void ring_program(uint32_t thread)
{
    uint32_t i = thread - NUM_CPU;

    for (uint64_t round = 0; round < rounds; round++) {
        if (i != 0 || round != 0) {
            uint64_t deadline = round % 3 == 0 ? NOTIFY_FOREVER : 0;
            uint32_t status = ERR_TIMEOUT;
            while (status == ERR_TIMEOUT) {
                status = user_call(SYS_WAIT, WAIT_SLOT, deadline ? deadline : arch_clock_ns() + 20000, 0, 0, 0);
            }
            CHECK_EQUAL(status, STATUS_OK);
            CHECK_EQUAL(user_first(), 1ul << i);
        }
        CHECK_EQUAL(user_call(SYS_SIGNAL, SIGNAL_SLOT, 0, 0, 0, 0), STATUS_OK);
    }
    if (__atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST) == 0) {
        world_stop();
    }
    leave();
}

/* The same, but handing over and waiting are one call. */
static void one_call_program(uint32_t thread)
{
    uint32_t i = thread - NUM_CPU;
    uint32_t status = ERR_TIMEOUT;

    for (uint64_t round = 0; round < rounds; round++) {
        if (i != 0 || round != 0) {
            uint64_t signal = round == 0 ? 0 : 1 + SIGNAL_SLOT;
            uint64_t deadline = round % 3 == 0 ? NOTIFY_FOREVER : arch_clock_ns() + 20000;
            status = user_call(SYS_WAIT, WAIT_SLOT, deadline, signal, 0, 0);
            while (status == ERR_TIMEOUT) {
                status = user_call(SYS_WAIT, WAIT_SLOT, arch_clock_ns() + 20000, 0, 0, 0);
            }
            CHECK_EQUAL(status, STATUS_OK);
            CHECK_EQUAL(user_first(), 1ul << i);
        }
    }
    CHECK_EQUAL(user_call(SYS_SIGNAL, SIGNAL_SLOT, 0, 0, 0, 0), STATUS_OK);
    if (__atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST) == 0) {
        world_stop();
    }
    leave();
}

static void across_cpus(uint32_t cpus, void (*program_of_ring)(uint32_t))
{
    world_start(cpus);
    rounds = test_operations(2000);
    left = RING;
    for (uint32_t p = 0; p < RING; p++) {
        notify_define(p, p);
        world_process(p, NONE, 100, p, 1, p % cpus, 100, NONE);
    }
    for (uint32_t p = 0; p < RING; p++) {
        uint32_t next = (p + 1) % RING;
        CHECK_EQUAL(process_set_grant(p, WAIT_SLOT, GRANT_NOTIFICATION, p, RIGHT_WAIT, 0), STATUS_OK);
        CHECK_EQUAL(process_set_grant(p, SIGNAL_SLOT, GRANT_NOTIFICATION, next, RIGHT_SIGNAL, 1ul << next), STATUS_OK);
        world_create(p);
    }
    for (uint32_t p = 0; p < RING; p++) {
        world_start_process(p);
    }
    world_run(program_of_ring);
    CHECK_EQUAL(invariants_check(), 0);
}

int main(void)
{
    on_one_cpu();
    several_waiters();
    watching();
    across_cpus(RING, ring_program);
    across_cpus(RING, one_call_program);
    across_cpus(2, one_call_program);
    across_cpus(1, one_call_program);
    return TEST_END();
}
