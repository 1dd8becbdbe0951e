/* Random system calls: two threads of a process with a grant of every kind call with random registers; their parent
 * starts them anew when they end or block for good. All invariants are walked again and again, and after each life
 * everything must have come back. First a few calls whose outcome is known. */
#include "abi.h"
#include "arch.h"
#include "buffer.h"
#include "container.h"
#include "device.h"
#include "endpoint.h"
#include "frame.h"
#include "guest.h"
#include "hosted.h"
#include "invariants.h"
#include "irq.h"
#include "notify.h"
#include "process.h"
#include "share.h"
#include "syscall.h"
#include "test.h"
#include "thread.h"
#include "uctx.h"
#include "world.h"

#define CHILD_SLOT 10u
#define VICTIM 1u
#define GRANDCHILD 2u
#define PEER 3u
#define CALLS_BETWEEN_WALKS 200u

static uint64_t calls; /* made by the victim in all */
static uint64_t random_state;

static uint64_t draw(uint64_t below)
{
    return test_random_of(&random_state) % below;
}

static uint64_t argument(void)
{
    static const uint64_t bases[] = {
        0,        USER_BASE,  0x400000,           MESSAGE_VADDR,      ENV_VADDR, USER_END - 4096,
        USER_END, 0x10000000, 0x0000800000000000, 0xffff800000000000, ~0xffful};

    switch (draw(7)) {
    case 0:
    case 1:
        return draw(16);
    case 2:
    case 3:
        return bases[draw(sizeof bases / sizeof bases[0])] + 4096 * draw(8) + (draw(8) == 0 ? draw(4096) : 0);
    case 4:
        return 1ul << draw(64);
    case 5:
        return arch_clock_ns() + draw(5000);
    default:
        return test_random_of(&random_state);
    }
}

static void random_call(uint32_t thread)
{
    uint64_t number = draw(50) == 0 ? test_random_of(&random_state) : draw(NUM_SYSCALL + 2);

    if (number == SYS_CHECK || ((number == SYS_PROCESS_EXIT || number == SYS_THREAD_EXIT) && draw(20) != 0)) {
        return;
    }
    for (uint32_t reg = UCTX_RAX; reg <= UCTX_R15; reg++) {
        uctx_set(thread, reg, argument());
    }
    uctx_set(thread, UCTX_RAX, number);
    if (draw(2) == 0) {
        uctx_set(thread, UCTX_RDI, draw(16)); /* a slot, most likely */
    }
    uint32_t status = user_call_registers();
    CHECK(status <= ERR_NOT_SUPPORTED);
    CHECK(status != ERR_CANCELLED);
    if (number >= NUM_SYSCALL) {
        CHECK_EQUAL(status, ERR_UNKNOWN_CALL);
    }
}

static void victim(uint32_t thread)
{
    for (;;) {
        random_call(thread);
        hosted_clock_advance(100);
        calls++;
        if (calls % CALLS_BETWEEN_WALKS == 0 && !CHECK_EQUAL(invariants_check(), 0)) {
            world_stop();
        }
        user_interrupts();
    }
}

/* Receives and replies, so that calls of the victim return. */
static void peer(void)
{
    user_call(SYS_RECV, 0, 0, 0, 0, 0);
    for (;;) {
        user_call(SYS_REPLY_RECV, 0, 2, 0, 0, 0);
    }
}

static void parent(void)
{
    uint64_t limit = test_operations(60000);
    uint32_t free_before = frame_free_count();
    uint32_t used = container_usage(0);

    while (calls < limit && !world_stopped()) {
        CHECK_EQUAL(user_call(SYS_PROCESS_CREATE, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_call(SYS_PROCESS_START, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK);
        uint64_t last = ~0ul;
        user_call(SYS_PROCESS_STATUS, CHILD_SLOT, 0, 0, 0, 0);
        while (user_first() != PROCESS_EMPTY) {
            if (calls == last) {
                user_call(SYS_PROCESS_KILL, CHILD_SLOT, 0, 0, 0, 0);
            }
            last = calls;
            user_call(SYS_SLEEP, arch_clock_ns() + 20000, 0, 0, 0, 0);
            user_call(SYS_PROCESS_STATUS, CHILD_SLOT, 0, 0, 0, 0);
        }
        CHECK_EQUAL(container_usage(0), used);
        CHECK_EQUAL(frame_free_count(), free_before);
        if (!CHECK_EQUAL(invariants_check(), 0)) {
            break;
        }
    }
    world_stop();
    user_call(SYS_THREAD_EXIT, 0, 0, 0, 0, 0);
}

static void program(uint32_t thread)
{
    uint32_t p = thread_process(thread);

    if (p == 0) {
        parent();
    } else if (p == PEER) {
        peer();
    }
    victim(thread);
}

static uint32_t guest_step(uint32_t vm, uint32_t nested_root, struct hosted_guest *guest)
{
    (void)vm;
    (void)nested_root;
    (void)guest;
    return draw(3) == 0 ? VCPU_EXIT_NONE : VCPU_EXIT_HALT;
}

static void give(uint32_t p, uint32_t slot, uint32_t kind, uint32_t object, uint32_t rights, uint64_t badge)
{
    CHECK_EQUAL(process_set_grant(p, slot, kind, object, rights, badge), STATUS_OK);
}

static void random_calls(void)
{
    world_start(1);
    hosted_guest_set_step(guest_step);
    endpoint_define(0, PEER, 0);
    endpoint_define(1, VICTIM, ENDPOINT_FIFO);
    notify_define(0, VICTIM);
    buffer_define(0, 3);
    share_define(0, VICTIM, PEER);
    share_define(1, VICTIM, VICTIM);
    device_define(0, GRANT_MMIO, 0xfe000000ul, 2 * 4096, VICTIM);
    device_define(1, GRANT_PORT, 0x3f8, 8, VICTIM);
    world_process(0, NONE, 1000, 0, 1, 0, 200, NONE);
    world_process(PEER, NONE, 100, 1, 1, 0, 100, NONE);
    world_process(VICTIM, 0, 300, 2, 2, 0, 100, NONE);
    world_process(GRANDCHILD, VICTIM, 50, 4, 1, 0, 100, NONE);
    give(0, CHILD_SLOT, GRANT_PROCESS, VICTIM, 0, NONE);
    give(PEER, 0, GRANT_ENDPOINT, 0, RIGHT_RECV, 0);
    give(VICTIM, 0, GRANT_ENDPOINT, 0, RIGHT_SEND, 5);
    give(VICTIM, 1, GRANT_ENDPOINT, 1, RIGHT_SEND | RIGHT_RECV, 6);
    give(VICTIM, 2, GRANT_NOTIFICATION, 0, RIGHT_SIGNAL | RIGHT_WAIT, 0x10);
    give(VICTIM, 3, GRANT_BUFFER, 0, RIGHT_INSERT | RIGHT_REMOVE, 0);
    give(VICTIM, 4, GRANT_SHARE, 0, RIGHT_OFFER | RIGHT_WRITE, 0);
    give(VICTIM, 5, GRANT_PROCESS, GRANDCHILD, 0, 0);
    give(VICTIM, 6, GRANT_IRQ, 9, 0, 0);
    give(VICTIM, 7, GRANT_MMIO, 0, 0, 0);
    give(VICTIM, 8, GRANT_PORT, 1, 0, 0);
    give(VICTIM, 9, GRANT_DMA, 0, 0, 0);
    give(VICTIM, 10, GRANT_VM, 0, 0, 0);
    give(VICTIM, 11, GRANT_CONSOLE, 3, 0, 0);
    give(VICTIM, 12, GRANT_SHARE, 1, RIGHT_OFFER | RIGHT_ACCEPT | RIGHT_WRITE, 0);
    give(GRANDCHILD, 0, GRANT_ENDPOINT, 1, RIGHT_SEND, 7);
    irq_define(9, 0, 1ul << 6, 0, 0);
    world_create(0);
    world_create(PEER);
    world_start_process(PEER);
    world_start_process(0);
    world_run(program);
    CHECK(calls > 1000);
}

/* ---- known outcomes ---- */

static void known_program(uint32_t thread)
{
    CHECK_EQUAL(user_call(SYS_NULL, 0, 0, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_call(NUM_SYSCALL, 0, 0, 0, 0, 0), ERR_UNKNOWN_CALL);
    CHECK_EQUAL(user_call(0xffffffff, 0, 0, 0, 0, 0), ERR_UNKNOWN_CALL);
    /* A refused call keeps every register but rax. */
    for (uint32_t reg = UCTX_RBX; reg <= UCTX_R15; reg++) {
        uctx_set(thread, reg, 0x1000 + reg);
    }
    uctx_set(thread, UCTX_RAX, SYS_CALL);
    CHECK_EQUAL(user_call_registers(), ERR_BAD_SLOT);
    for (uint32_t reg = UCTX_RBX; reg <= UCTX_R15; reg++) {
        CHECK_EQUAL(uctx_get(thread, reg), 0x1000 + reg);
    }
    /* A long call is interrupted after each page and continues. */
    uint64_t before = user_restarts();
    hosted_raise(0, VECTOR_RESCHEDULE);
    CHECK_EQUAL(user_call(SYS_MEM_MAP, 0x10000000, 30, PROT_READ | PROT_WRITE, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_restarts(), before + 1);
    CHECK_EQUAL(user_second(), 0);
    CHECK_EQUAL(user_first(), 0x10000000 + 30 * 4096);
    for (uint32_t i = 0; i < 30; i++) {
        CHECK(hosted_reach(0x10000000 + i * 4096, 1) != NONE);
    }
    hosted_raise(0, VECTOR_RESCHEDULE);
    CHECK_EQUAL(user_call(SYS_MEM_UNMAP, 0x10000000, 30, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_restarts(), before + 2);
    CHECK_EQUAL(hosted_reach(0x10000000, 0), NONE);
    CHECK_EQUAL(user_call(SYS_MEM_MAP, 0x10000000, 0, PROT_READ, 0, 0), ERR_BAD_ADDRESS);
    CHECK_EQUAL(user_call(SYS_MEM_MAP, 0x10000000, ~0ul, PROT_READ, 0, 0), ERR_BAD_ADDRESS);
    CHECK_EQUAL(user_call(SYS_MEM_MAP, 0, 1, PROT_READ, 0, 0), ERR_BAD_ADDRESS);
    CHECK_EQUAL(user_call(SYS_MEM_MAP, 0x10000000, 1, PROT_WRITE | PROT_EXEC | PROT_READ, 0, 0), ERR_BAD_ARGUMENT);
    CHECK_EQUAL(user_call(SYS_MEM_MAP, 0x10000000, 1, 8 | PROT_READ, 0, 0), ERR_BAD_ARGUMENT);
    CHECK_EQUAL(user_call(SYS_MEM_MAP, 0x10000000, 1, 1ul << 32 | PROT_READ, 0, 0), ERR_BAD_ARGUMENT);
    CHECK_EQUAL(user_call(SYS_MEM_MAP, MESSAGE_VADDR + 4096, 1, PROT_READ, 0, 0), ERR_BAD_ADDRESS);
    CHECK_EQUAL(user_call(SYS_POWER_OFF, 0, 0, 0, 0, 0), ERR_BAD_SLOT);
    CHECK_EQUAL(user_call(SYS_CHECK, 0, 0, 0, 0, 0), ERR_BAD_SLOT);
    CHECK_EQUAL(process_set_grant(0, 60, GRANT_POWER, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_call(SYS_CHECK, 60, 0, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_first(), 0);
    world_stop();
    user_call(SYS_PROCESS_EXIT, 3, 0, 0, 0, 0);
}

static void known_outcomes(void)
{
    world_start(1);
    world_process(0, NONE, 100, 0, 1, 0, 100, NONE);
    world_create(0);
    world_start_process(0);
    world_run(known_program);
    CHECK_EQUAL(process_state(0), PROCESS_EMPTY);
    CHECK_EQUAL(process_end_cause(0), END_EXIT | 3 << 8);
    CHECK_EQUAL(container_usage(CONTAINER_ROOT), 0);
    CHECK_EQUAL(frame_free_count(), WORLD_FRAMES);
}

int main(void)
{
    test_random_start();
    random_state = test_seed;
    known_outcomes();
    random_calls();
    return TEST_END();
}
