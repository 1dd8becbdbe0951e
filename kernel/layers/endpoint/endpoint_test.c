/* Endpoints: messages of every length, order of waiters, ends of either side at any point, faults as messages, many
 * clients and servers on several CPUs, several receivers. */
#include <string.h>

#include "abi.h"
#include "arch.h"
#include "endpoint.h"
#include "hosted.h"
#include "invariants.h"
#include "notify.h"
#include "process.h"
#include "test.h"
#include "thread.h"
#include "uctx.h"
#include "world.h"

#define SEND_SLOT 1u
#define RECV_SLOT 2u
#define CHILD_SLOT 3u
#define E 5u

static void leave(void)
{
    user_call(SYS_THREAD_EXIT, 0, 0, 0, 0, 0);
}

/* Word i of a message that starts at seed. */
static uint64_t pattern(uint64_t seed, uint32_t i)
{
    return seed * 1000003 + i;
}

static void fill(uint64_t seed, uint32_t n)
{
    uint32_t frame = thread_message_frame(thread_current());

    for (uint32_t i = 0; i < n; i++) {
        if (i < MESSAGE_REGISTER_WORDS) {
            user_set_word(i, pattern(seed, i));
        } else {
            arch_frame_write(frame, i, pattern(seed, i));
        }
    }
}

static uint32_t holds(uint64_t seed, uint32_t n)
{
    uint32_t frame = thread_message_frame(thread_current());
    uint32_t good = 1;

    for (uint32_t i = 0; i < n; i++) {
        uint64_t word = i < MESSAGE_REGISTER_WORDS ? user_word(i) : arch_frame_read(frame, i);
        good = good && word == pattern(seed, i);
    }
    return good;
}

static uint32_t message(uint32_t number, uint32_t slot, uint64_t seed, uint32_t n)
{
    uint32_t thread = thread_current();

    uctx_set(thread, UCTX_RAX, number);
    uctx_set(thread, UCTX_RDI, slot);
    uctx_set(thread, UCTX_RSI, n);
    fill(seed, n);
    return user_call_registers();
}

/* Server: process 0; clients: 1, 2, ... with badge 100 + p. */
static void system_of(uint32_t cpus, uint32_t processes, uint32_t flags, uint32_t spread)
{
    world_start(cpus);
    endpoint_define(E, 0, flags);
    for (uint32_t p = 0; p < processes; p++) {
        world_process(p, NONE, 200, 4 * p, 1, spread ? p : 0, 100 + p, NONE);
        CHECK_EQUAL(process_set_grant(p, p == 0 ? RECV_SLOT : SEND_SLOT, GRANT_ENDPOINT, E,
                                      p == 0 ? RIGHT_RECV : RIGHT_SEND, 100 + p),
                    STATUS_OK);
    }
    for (uint32_t p = 0; p < processes; p++) {
        world_create(p);
    }
    for (uint32_t p = 0; p < processes; p++) {
        world_start_process(p);
    }
}

/* ---- every length, both ways, and the refusals ---- */

static void lengths_program(uint32_t thread)
{
    if (thread == NUM_CPU) {
        CHECK_EQUAL(user_call(SYS_RECV, SEND_SLOT, 0, 0, 0, 0), ERR_BAD_SLOT);
        CHECK_EQUAL(user_call(SYS_REPLY, 0, 0, 0, 0, 0), ERR_NO_REPLY_PENDING);
        CHECK_EQUAL(user_call(SYS_RECV, RECV_SLOT, 0, 0, 0, 0), STATUS_OK);
        for (;;) {
            uint32_t n = (uint32_t)user_second();
            CHECK_EQUAL(user_first(), 101);
            CHECK(holds(n, n));
            if (n == 3) {
                CHECK_EQUAL(user_call(SYS_RECV, RECV_SLOT, 0, 0, 0, 0), ERR_BAD_STATE);
                CHECK_EQUAL(user_call(SYS_REPLY_RECV, RECV_SLOT, 121, 0, 0, 0), ERR_BAD_ARGUMENT);
                CHECK_EQUAL(message(SYS_REPLY, 0, 7 + n, 120 - n), STATUS_OK);
                CHECK_EQUAL(user_call(SYS_REPLY, 0, 0, 0, 0, 0), ERR_NO_REPLY_PENDING);
                CHECK_EQUAL(user_call(SYS_RECV, RECV_SLOT, 0, 0, 0, 0), STATUS_OK);
            } else if (n == 119) { /* the client's next message is a send: no caller to reply to */
                CHECK_EQUAL(message(SYS_REPLY_RECV, RECV_SLOT, 7 + n, 120 - n), STATUS_OK);
                CHECK_EQUAL(user_second(), 120);
                CHECK(holds(9, 120));
                CHECK_EQUAL(user_call(SYS_REPLY, 0, 0, 0, 0, 0), ERR_NO_REPLY_PENDING);
                world_stop();
                leave();
            } else {
                CHECK_EQUAL(message(SYS_REPLY_RECV, RECV_SLOT, 7 + n, 120 - n), STATUS_OK);
            }
        }
    }
    CHECK_EQUAL(user_call(SYS_CALL, SEND_SLOT, 121, 0, 0, 0), ERR_BAD_ARGUMENT);
    CHECK_EQUAL(user_call(SYS_CALL, 64, 0, 0, 0, 0), ERR_BAD_SLOT);
    CHECK_EQUAL(user_call(SYS_CALL, 0x100000001ul, 0, 0, 0, 0), ERR_BAD_SLOT);
    CHECK_EQUAL(user_call(SYS_RECV, SEND_SLOT, 0, 0, 0, 0), ERR_BAD_SLOT);
    for (uint32_t n = 0; n < 120; n++) {
        CHECK_EQUAL(message(SYS_CALL, SEND_SLOT, n, n), STATUS_OK);
        CHECK_EQUAL(user_first(), 0);
        CHECK_EQUAL(user_second(), 120 - n);
        CHECK(holds(7 + n, 120 - n));
    }
    CHECK_EQUAL(message(SYS_SEND, SEND_SLOT, 9, 120), STATUS_OK);
    leave();
}

static void every_length(uint32_t cpus)
{
    system_of(cpus, 2, 0, 1);
    world_run(lengths_program);
    CHECK_EQUAL(invariants_check(), 0);
}

/* ---- order of waiting senders ---- */

static uint64_t order[4];

static void order_program(uint32_t thread)
{
    uint32_t p = (thread - NUM_CPU) / 4;

    if (p == 0) { /* lowest priority: the clients queue before it receives */
        for (uint32_t i = 0; i < 3; i++) {
            CHECK_EQUAL(user_call(SYS_RECV, RECV_SLOT, 0, 0, 0, 0), STATUS_OK);
            order[i] = user_first();
            CHECK_EQUAL(user_call(SYS_REPLY, 0, 0, 0, 0, 0), STATUS_OK);
        }
        world_stop();
        leave();
    }
    /* The client of the lowest priority comes first, that of the highest last. */
    user_call(SYS_SLEEP, 1000 * p, 0, 0, 0, 0);
    CHECK_EQUAL(user_call(SYS_CALL, SEND_SLOT, 0, 0, 0, 0), STATUS_OK);
    leave();
}

static void late_server(uint32_t thread)
{
    if (thread == NUM_CPU) {
        user_call(SYS_SLEEP, 10000, 0, 0, 0, 0);
    }
    order_program(thread);
}

static void waiting_order(uint32_t flags)
{
    system_of(1, 4, flags, 0);
    world_run(late_server);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_EQUAL(order[i], flags == ENDPOINT_FIFO ? 101 + i : 103 - i);
    }
    CHECK_EQUAL(invariants_check(), 0);
}

/* ---- ends: a parent kills client or server while the other waits at each point ---- */

static uint32_t scene;
static uint32_t seen;

#define SERVER_ENDS_BEFORE_RECV 0u  /* the client waits to send */
#define SERVER_ENDS_BEFORE_REPLY 1u /* the client waits for its reply */
#define CLIENT_ENDS_WAITING 2u      /* the server has taken the call */
#define CLIENT_ENDS_QUEUED 3u       /* the server receives afterwards: nothing must come */
#define SERVER_RECEIVES 4u          /* the server ends while it waits to receive */

static void ends_program(uint32_t thread)
{
    uint32_t p = (thread - NUM_CPU) / 4;

    if (p == 2) { /* the parent */
        user_call(SYS_SLEEP, 5000, 0, 0, 0, 0);
        uint32_t victim = scene == CLIENT_ENDS_WAITING || scene == CLIENT_ENDS_QUEUED ? 1 : 0;
        CHECK_EQUAL(user_call(SYS_PROCESS_KILL, CHILD_SLOT + victim, 0, 0, 0, 0), STATUS_OK);
        user_call(SYS_SLEEP, 20000, 0, 0, 0, 0);
        CHECK_EQUAL(user_call(SYS_PROCESS_STATUS, CHILD_SLOT + victim, 0, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_first(), PROCESS_EMPTY);
        CHECK_EQUAL(invariants_check(), 0);
        world_stop();
        leave();
    }
    if (p == 0) {
        if (scene == SERVER_ENDS_BEFORE_RECV || scene == CLIENT_ENDS_QUEUED) {
            user_call(SYS_SLEEP, 10000, 0, 0, 0, 0);
        }
        uint32_t status = user_call(SYS_RECV, RECV_SLOT, 0, 0, 0, 0);
        CHECK_EQUAL(scene, CLIENT_ENDS_WAITING); /* in the other scenes it never returns */
        CHECK_EQUAL(status, STATUS_OK);
        user_call(SYS_SLEEP, 10000, 0, 0, 0, 0);
        CHECK_EQUAL(user_call(SYS_REPLY, 0, 0, 0, 0, 0), ERR_NO_REPLY_PENDING);
        seen++;
        user_call(SYS_REPLY_RECV, RECV_SLOT, 0, 0, 0, 0);
        CHECK(0);
    }
    if (scene == SERVER_RECEIVES) {
        user_call(SYS_SLEEP, 10000, 0, 0, 0, 0);
    }
    CHECK_EQUAL(user_call(SYS_CALL, SEND_SLOT, 0, 0, 0, 0), ERR_PEER_DEAD);
    CHECK(scene == SERVER_ENDS_BEFORE_RECV || scene == SERVER_ENDS_BEFORE_REPLY || scene == SERVER_RECEIVES);
    CHECK_EQUAL(user_call(SYS_SEND, SEND_SLOT, 0, 0, 0, 0), ERR_PEER_DEAD);
    seen++;
    leave();
}

/* In the second scene the server must not return from its first receive. */
static void ends_program_stuck(uint32_t thread)
{
    if (thread == NUM_CPU && scene == SERVER_ENDS_BEFORE_REPLY) {
        user_call(SYS_RECV, RECV_SLOT, 0, 0, 0, 0);
        user_call(SYS_SLEEP, 10000, 0, 0, 0, 0);
        CHECK(0);
    }
    ends_program(thread);
}

static void ends(void)
{
    for (scene = 0; scene <= SERVER_RECEIVES; scene++) {
        world_start(1);
        seen = 0;
        endpoint_define(E, 0, 0);
        world_process(2, NONE, 500, 8, 1, 0, 200, NONE);
        world_process(0, 2, 200, 0, 1, 0, 101, NONE);
        world_process(1, 2, 200, 4, 1, 0, 100, NONE);
        process_set_grant(0, RECV_SLOT, GRANT_ENDPOINT, E, RIGHT_RECV, 0);
        process_set_grant(1, SEND_SLOT, GRANT_ENDPOINT, E, RIGHT_SEND, 0);
        process_set_grant(2, CHILD_SLOT, GRANT_PROCESS, 0, 0, NONE);
        process_set_grant(2, CHILD_SLOT + 1, GRANT_PROCESS, 1, 0, NONE);
        world_create(2);
        world_create(0);
        world_create(1);
        for (uint32_t p = 0; p < 3; p++) {
            world_start_process(p);
        }
        world_run(ends_program_stuck);
        CHECK_EQUAL(seen, scene == CLIENT_ENDS_QUEUED ? 0 : 1);
    }
}

/* ---- many at once: each of several clients sums up the replies of an echo server with two threads ---- */

#define CLIENTS 5u
static uint64_t calls;
static uint32_t left;

static void stress_program(uint32_t thread)
{
    uint32_t p = (thread - NUM_CPU) / 4;

    if (p == 0) {
        if (thread == NUM_CPU) {
            CHECK_EQUAL(user_call(SYS_THREAD_START, 1, USER_BASE, USER_BASE, 0, 0), STATUS_OK);
        }
        uint32_t status = user_call(SYS_RECV, RECV_SLOT, 0, 0, 0, 0);
        while (status == STATUS_OK) {
            uint32_t n = (uint32_t)user_second();
            CHECK(holds(user_first(), n));
            status = message(SYS_REPLY_RECV, RECV_SLOT, user_first() + n, n);
        }
    }
    for (uint64_t i = 0; i < calls; i++) {
        uint32_t n = (uint32_t)((i * 7 + p) % 121);
        CHECK_EQUAL(message(SYS_CALL, SEND_SLOT, 100 + p, n), STATUS_OK);
        CHECK_EQUAL(user_second(), n);
        CHECK(holds(100 + p + n, n));
    }
    if (__atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST) == 0) {
        world_stop();
    }
    leave();
}

static void stress(uint32_t cpus)
{
    world_start(cpus);
    calls = test_operations(1500);
    left = CLIENTS;
    endpoint_define(E, 0, 0);
    world_process(0, NONE, 200, 0, 2, 0, 120, NONE);
    process_set_grant(0, RECV_SLOT, GRANT_ENDPOINT, E, RIGHT_RECV, 0);
    for (uint32_t p = 1; p <= CLIENTS; p++) {
        world_process(p, NONE, 200, 4 * p, 1, p, 100 + p, NONE);
        process_set_grant(p, SEND_SLOT, GRANT_ENDPOINT, E, RIGHT_SEND, 100 + p);
    }
    for (uint32_t p = 0; p <= CLIENTS; p++) {
        world_create(p);
    }
    for (uint32_t p = 0; p <= CLIENTS; p++) {
        world_start_process(p);
    }
    world_run(stress_program);
    CHECK_EQUAL(invariants_check(), 0);
}

/* ---- several threads receive: each message goes to the one that has waited longest, and all of them can be ended ---- */

#define WAIT_SLOT 4u
#define POOL 3u

static uint32_t served[4u * POOL];
static uint32_t num_served;

static void pool_program(uint32_t thread)
{
    if (thread == NUM_CPU) { /* the parent ends the pool when the client is done */
        CHECK_EQUAL(user_call(SYS_WAIT, WAIT_SLOT, NOTIFY_FOREVER, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(invariants_check(), 0);
        CHECK_EQUAL(user_call(SYS_PROCESS_KILL, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_call(SYS_WAIT, WAIT_SLOT, NOTIFY_FOREVER, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(invariants_check(), 0);
        world_stop();
        leave();
    }
    if (thread == NUM_CPU + 4) { /* the pool's first thread starts the others */
        for (uint32_t i = 1; i <= POOL; i++) {
            CHECK_EQUAL(user_call(SYS_THREAD_START, i, USER_BASE, USER_BASE, i, 0), STATUS_OK);
            user_call(SYS_YIELD, 0, 0, 0, 0, 0);
        }
        user_call(SYS_SLEEP, NOTIFY_FOREVER, 0, 0, 0, 0);
    }
    if (thread < NUM_CPU + 8) {
        for (;;) {
            CHECK_EQUAL(user_call(SYS_RECV, RECV_SLOT, 0, 0, 0, 0), STATUS_OK);
            served[num_served++] = thread - (NUM_CPU + 4);
            CHECK_EQUAL(user_call(SYS_REPLY, 0, 0, 0, 0, 0), STATUS_OK);
        }
    }
    user_call(SYS_SLEEP, arch_clock_ns() + 1000000, 0, 0, 0, 0); /* until the pool waits */
    for (uint32_t i = 0; i < 4u * POOL; i++) {
        CHECK_EQUAL(user_call(SYS_CALL, SEND_SLOT, 0, 0, 0, 0), STATUS_OK);
    }
    user_call(SYS_SIGNAL, WAIT_SLOT, 0, 0, 0, 0);
    CHECK_EQUAL(user_call(SYS_CALL, SEND_SLOT, 0, 0, 0, 0), ERR_PEER_DEAD);
    leave();
}

static void pool(void)
{
    world_start(1);
    num_served = 0;
    endpoint_define(E, 1, 0);
    notify_define(0, 0);
    world_process(0, NONE, 300, 0, 1, 0, 150, NONE);
    world_process(1, 0, 200, 4, 4, 0, 120, NONE);
    world_process(2, NONE, 100, 8, 1, 0, 100, NONE);
    process_set_grant(0, CHILD_SLOT, GRANT_PROCESS, 1, 0, 0);
    process_set_grant(0, WAIT_SLOT, GRANT_NOTIFICATION, 0, RIGHT_WAIT, 0);
    process_set_grant(1, RECV_SLOT, GRANT_ENDPOINT, E, RIGHT_RECV, 0);
    process_set_grant(2, SEND_SLOT, GRANT_ENDPOINT, E, RIGHT_SEND, 0);
    process_set_grant(2, WAIT_SLOT, GRANT_NOTIFICATION, 0, RIGHT_SIGNAL, 1);
    for (uint32_t p = 0; p < 3; p++) {
        world_create(p);
    }
    for (uint32_t p = 0; p < 3; p++) {
        world_start_process(p);
    }
    world_run(pool_program);
    CHECK_EQUAL(num_served, 4 * POOL);
    for (uint32_t i = 0; i < num_served; i++) {
        CHECK_EQUAL(served[i], 1 + i % POOL);
    }
    CHECK_EQUAL(invariants_check(), 0);
}

int main(void)
{
    every_length(1);
    every_length(2);
    waiting_order(0);
    waiting_order(ENDPOINT_FIFO);
    ends();
    stress(1);
    stress(4);
    pool();
    return TEST_END();
}
