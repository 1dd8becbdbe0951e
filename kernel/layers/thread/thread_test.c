/* Threads: real switches between real stacks, and the page map that each runs in. */
#include "abi.h"
#include "arch.h"
#include "container.h"
#include "frame.h"
#include "hosted.h"
#include "pagemap.h"
#include "test.h"
#include "thread.h"

#define A NUM_CPU
#define B (NUM_CPU + 1u)
#define C (NUM_CPU + 2u) /* of A's process */

static uint32_t visits[NUM_THREAD];

static uint32_t root(uint32_t p)
{
    for (uint32_t frame = HOSTED_FIRST_FRAME; frame < HOSTED_FIRST_FRAME + 10; frame++) {
        if (frame_owners(frame) == 1ul << p) {
            return frame;
        }
    }
    return NONE;
}

/* Each thread keeps a local over its switches: the stacks are separate. */
static void user(uint32_t thread)
{
    uint32_t local = thread * 3;

    for (uint32_t round = 0;; round++) {
        CHECK_EQUAL(thread_current(), thread);
        CHECK_EQUAL(local, thread * 3 + round);
        CHECK_EQUAL(arch_loaded_root_of(0), root(thread_process(thread)));
        visits[thread]++;
        local++;
        thread_switch(0);
    }
}

static void leave_space(uint32_t thread)
{
    thread_leave_space();
    CHECK_EQUAL(arch_loaded_root_of(0), NONE);
    thread_switch(0);
    CHECK_EQUAL(arch_loaded_root_of(0), root(1)); /* B's, which ran meanwhile: this thread needs none */
    visits[thread]++;
    for (;;) {
        thread_switch(0);
    }
}

int main(void)
{
    hosted_reset(1);
    container_init(100);
    frame_init();
    frame_make_usable(HOSTED_FIRST_FRAME, 10);
    pagemap_init();
    for (uint32_t p = 0; p < 2; p++) {
        container_split(CONTAINER_ROOT, p, 10);
        CHECK_EQUAL(pagemap_create(p), STATUS_OK);
    }
    thread_init();
    thread_define(A, 0, 0, 10);
    thread_define(B, 1, 0, 20);
    thread_define(C, 0, 0, 30);
    CHECK_EQUAL(thread_current(), 0);
    CHECK_EQUAL(thread_process(0), NONE);
    CHECK_EQUAL(thread_check(), 0);
    hosted_set_user(user);
    for (uint32_t t = A; t <= C; t++) {
        thread_reset(t, pagemap_root_of(thread_process(t)));
    }
    for (uint32_t round = 0; round < 100; round++) {
        uint32_t t = A + round % 3;
        thread_switch(t);
        CHECK_EQUAL(thread_current(), 0);
        CHECK_EQUAL(arch_loaded_root_of(0), root(thread_process(t))); /* the idle thread keeps it */
        CHECK_EQUAL(thread_check(), 0);
    }
    CHECK_EQUAL(visits[A] + visits[B] + visits[C], 100);

    /* A restarted thread begins on an empty stack, with its base priority and page map. */
    thread_set_priority(A, 255);
    thread_set_wait(A, WAIT_REPLY, 5);
    thread_reset(A, pagemap_root_of(0));
    CHECK_EQUAL(thread_priority(A), 10);
    CHECK_EQUAL(thread_wait_kind(A), WAIT_NONE);
    CHECK_EQUAL(thread_state(A), THREAD_BLOCKED);
    hosted_set_user(leave_space);
    thread_switch(A);
    thread_switch(B);
    uint32_t before = visits[A];
    thread_switch(A);
    CHECK_EQUAL(visits[A], before + 1);
    CHECK_EQUAL(thread_check(), 0);
    thread_reset(A, pagemap_root_of(0));
    hosted_set_user(user);
    visits[A] = 0;
    thread_switch(A);
    CHECK_EQUAL(visits[A], 1);
    return TEST_END();
}
