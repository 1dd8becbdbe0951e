/* Copied pages: the steps that each takes, what is in them, that a process which ends between any two steps loses no frame, and
 * that nothing of one copy is in another which takes over its frame. */
#include "abi.h"
#include "arch.h"
#include "container.h"
#include "frame.h"
#include "hosted.h"
#include "invariants.h"
#include "pagemap.h"
#include "process.h"
#include "process_parts.h"
#include "spinlock.h"
#include "teardown.h"
#include "test.h"
#include "world.h"

#define CHILD_SLOT 10u
#define DATA 0x600000ul
#define HERE 0x10000000ul
#define THERE (HERE + 4096)
#define IMAGE 100u /* reserved frames that represent the image */
#define PIECE 128u
#define MANY 200u /* more than any process here takes steps */

static void write_frame(uint32_t frame, uint64_t value)
{
    for (uint32_t i = 0; i < FRAME_WORDS; i++) {
        arch_frame_write(frame, i, value + i);
    }
}

/* The frame has the first `words` words that write_frame stores, and zeros. */
static uint32_t frame_has(uint32_t frame, uint64_t value, uint32_t words)
{
    for (uint32_t i = 0; i < FRAME_WORDS; i++) {
        if (arch_frame_read(frame, i) != (i < words ? value + i : 0)) {
            return 0;
        }
    }
    return 1;
}

/* Words of the frame that are not zero. */
static uint32_t filled(uint32_t frame)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < FRAME_WORDS; i++) {
        count += arch_frame_read(frame, i) != 0;
    }
    return count;
}

/* p's frame that is all zero, or the last one of all if it has none. */
static uint32_t clear_frame(uint32_t p)
{
    uint32_t frame = 0;
    while (frame < NUM_FRAME - 1 && (frame_owners(frame) != 1ul << p || filled(frame) != 0)) {
        frame++;
    }
    return frame;
}

static void define(uint32_t words)
{
    world_start(1);
    world_process(0, NONE, 40, 0, 1, 0, 100, NONE);
    CHECK_EQUAL(process_define_segment(0, DATA, 1, IMAGE, words, PROT_READ | PROT_WRITE, 1), STATUS_OK);
    write_frame(IMAGE, 1000);
}

/* Each step of loading a page fills one piece of a frame that is not mapped before it is complete. */
static void pieces(uint32_t words)
{
    define(words);
    uint32_t steps = 0;
    while ((pagemap_walk(0, MESSAGE_VADDR) == 0 || process_has_spare(0) == 0) && steps < MANY) {
        CHECK_EQUAL(process_create(0), STATUS_RESTART);
        steps++;
    }
    uint32_t frame = clear_frame(0);
    for (uint32_t done = 0; done < words;) {
        done = done + PIECE < words ? done + PIECE : words;
        CHECK_EQUAL(process_create(0), STATUS_RESTART);
        CHECK_EQUAL(filled(frame), done);
        CHECK_EQUAL(pagemap_walk(0, DATA), 0);
    }
    CHECK_EQUAL(process_create(0), STATUS_OK);
    CHECK_EQUAL(pagemap_frame(0, DATA, PROT_WRITE), frame);
    CHECK(frame_has(frame, 1000, words));
    CHECK_EQUAL(process_has_spare(0), 0);
    CHECK_EQUAL(invariants_check(), 0);
}

static void tear_down(uint32_t p)
{
    while (teardown_step(p) == 1) {
    }
    process_return_quota(p);
    process_finish(p);
}

/* Ends the process after so many steps of its creation. Returns whether there were so many. */
static uint32_t end_after(uint32_t steps)
{
    define(FRAME_WORDS);
    for (uint32_t i = 0; i < steps; i++) {
        if (process_create(0) == STATUS_OK) {
            return 0;
        }
    }
    spinlock_kernel_enter();
    CHECK_EQUAL(process_kill(0, END_KILLED), STATUS_OK);
    tear_down(0);
    spinlock_kernel_exit();
    CHECK_EQUAL(frame_free_count(), WORLD_FRAMES);
    CHECK_EQUAL(container_usage(0), 0);
    CHECK_EQUAL(process_state(0), PROCESS_EMPTY);
    CHECK_EQUAL(process_has_spare(0), 0);
    CHECK_EQUAL(invariants_check(), 0);
    return 1;
}

static void end_between_pieces(void)
{
    uint32_t steps = 1;
    while (steps < MANY && end_after(steps)) {
        steps++;
    }
    CHECK(steps < MANY);
    CHECK(steps > FRAME_WORDS / PIECE + 3);
}

/* ---- copies from the parent's pages, with an interrupt behind each step ---- */

static uint32_t step(uint64_t to, uint64_t from)
{
    /* It asks behind the beginning and behind each step. */
    hosted_raise_next(VECTOR_SPURIOUS);
    uint32_t status = process_copy_page(1, to, from, PROT_READ);
    hosted_lower(0, VECTOR_SPURIOUS);
    return status;
}

/* One that waits from the beginning on lets no step begin, and leaves the child to others. */
static void waits_already(uint64_t to, uint64_t from)
{
    uint32_t frames = process_has_spare(1);
    hosted_raise(0, VECTOR_SPURIOUS);
    CHECK_EQUAL(process_copy_page(1, to, from, PROT_READ), STATUS_RESTART);
    hosted_lower(0, VECTOR_SPURIOUS);
    CHECK_EQUAL(process_has_spare(1), frames);
    CHECK_EQUAL(process_being_built(1), 0);
}

/* Steps until so many pieces are filled. */
static void begin(uint64_t to, uint64_t from, uint32_t words)
{
    waits_already(to, from);
    for (uint32_t steps = 0; process_has_spare(1) == 0 && steps < MANY; steps++) {
        CHECK_EQUAL(step(to, from), STATUS_RESTART);
    }
    uint32_t frame = clear_frame(1);
    for (uint32_t done = 0; done < words; done += PIECE) {
        CHECK_EQUAL(step(to, from), STATUS_RESTART);
    }
    CHECK_EQUAL(filled(frame), words);
    CHECK_EQUAL(pagemap_walk(1, to), 0);
}

static uint32_t create_child(void)
{
    return user_call(SYS_PROCESS_CREATE, CHILD_SLOT, 0, 0, 0, 0);
}

static void kill_child(void)
{
    CHECK_EQUAL(user_call(SYS_PROCESS_KILL, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK);
    do {
        user_call(SYS_SLEEP, arch_clock_ns() + 1000, 0, 0, 0, 0);
    } while (process_state(1) != PROCESS_EMPTY);
}

/* Two copies that take turns: each page gets what is its own. */
static void two_at_once(void)
{
    CHECK_EQUAL(create_child(), STATUS_OK);
    begin(HERE, HERE, 2 * PIECE);
    CHECK_EQUAL(user_call(SYS_PROCESS_COPY, CHILD_SLOT, THERE, THERE, PROT_READ, 0), STATUS_OK);
    CHECK(frame_has(pagemap_frame(1, THERE, PROT_READ), 60000, FRAME_WORDS));
    CHECK_EQUAL(pagemap_walk(1, HERE), 0);
    begin(HERE, HERE, 3 * PIECE);
    /* The same page to another address goes on with what is filled. */
    CHECK_EQUAL(step(HERE + 8192, HERE), STATUS_RESTART);
    CHECK_EQUAL(step(HERE + 8192, HERE), STATUS_OK);
    CHECK(frame_has(pagemap_frame(1, HERE + 8192, PROT_READ), 50000, FRAME_WORDS));
    CHECK_EQUAL(user_call(SYS_PROCESS_COPY, CHILD_SLOT, HERE, HERE, PROT_READ, 0), STATUS_OK);
    CHECK(frame_has(pagemap_frame(1, HERE, PROT_READ), 50000, FRAME_WORDS));
    CHECK_EQUAL(process_has_spare(1), 0);
    kill_child();
}

/* The second thread writes the page before it copies it. */
static uint64_t other_writes;

static void other_thread(void)
{
    write_frame(hosted_reach(HERE, 1), other_writes);
    CHECK_EQUAL(user_call(SYS_PROCESS_COPY, CHILD_SLOT, HERE, HERE, PROT_READ, 0), STATUS_OK);
    other_writes = 0;
    user_call(SYS_THREAD_EXIT, 0, 0, 0, 0, 0);
}

/* What a copy has begun that fails, or that another thread makes, is not gone on with: the page may have changed since. */
static void changed_meanwhile(void)
{
    uint64_t life = 0;
    for (uint32_t words = 0; words <= FRAME_WORDS; words += PIECE, life += 1000) {
        CHECK_EQUAL(create_child(), STATUS_OK);
        CHECK_EQUAL(user_call(SYS_PROCESS_COPY, CHILD_SLOT, THERE, THERE, PROT_READ, 0), STATUS_OK);
        begin(HERE, HERE, words);
        write_frame(hosted_reach(HERE, 1), 70000 + life);
        CHECK_EQUAL(step(THERE, HERE), ERR_ALREADY_MAPPED);
        CHECK_EQUAL(user_call(SYS_PROCESS_COPY, CHILD_SLOT, HERE, HERE, PROT_READ, 0), STATUS_OK);
        CHECK(frame_has(pagemap_frame(1, HERE, PROT_READ), 70000 + life, FRAME_WORDS));
        kill_child();

        CHECK_EQUAL(create_child(), STATUS_OK);
        begin(HERE, HERE, words);
        other_writes = 80000 + life;
        CHECK_EQUAL(user_call(SYS_THREAD_START, 1, USER_BASE, USER_BASE, 0, 0), STATUS_OK);
        do {
            user_call(SYS_SLEEP, arch_clock_ns() + 1000, 0, 0, 0, 0);
        } while (other_writes != 0);
        CHECK(frame_has(pagemap_frame(1, HERE, PROT_READ), 80000 + life, FRAME_WORDS));
        kill_child();
    }
    write_frame(hosted_reach(HERE, 1), 50000);
}

/* Of a copy that is given up, nothing is in a page that is loaded next, nor in the child when it starts. */
static void given_up(void)
{
    for (uint32_t steps = 0; pagemap_missing(1, DATA) != 0 && steps < MANY; steps++) { /* all but the segment's page */
        hosted_raise(0, VECTOR_SPURIOUS);
        spinlock_kernel_enter();
        CHECK_EQUAL(process_create(1), STATUS_RESTART);
        spinlock_kernel_exit();
        hosted_lower(0, VECTOR_SPURIOUS);
    }
    begin(HERE, HERE, 2 * PIECE);
    CHECK_EQUAL(create_child(), STATUS_OK);
    CHECK(frame_has(pagemap_frame(1, DATA, PROT_READ), 1000, 8));
    uint32_t used = container_usage(1);
    begin(HERE, HERE, PIECE);
    uint32_t tables = container_usage(1) - used - 1;
    CHECK_EQUAL(user_call(SYS_MEM_UNMAP, HERE, 1, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(step(HERE, HERE), ERR_BAD_ADDRESS);
    CHECK_EQUAL(pagemap_walk(1, HERE), 0);
    CHECK_EQUAL(user_call(SYS_PROCESS_START, CHILD_SLOT, DATA, DATA, 0, 0), STATUS_OK);
    CHECK_EQUAL(process_has_spare(1), 0);
    CHECK_EQUAL(container_usage(1), used + tables);
    kill_child();
}

static void copies_program(uint32_t thread)
{
    if (thread == NUM_CPU + 1) {
        other_thread();
    } else if (thread != NUM_CPU) {
        user_call(SYS_SLEEP, ~0ul, 0, 0, 0, 0);
    }
    CHECK_EQUAL(user_call(SYS_MEM_MAP, HERE, 2, PROT_READ | PROT_WRITE, 0, 0), STATUS_OK);
    write_frame(hosted_reach(HERE, 1), 50000);
    write_frame(hosted_reach(THERE, 1), 60000);
    changed_meanwhile();
    uint32_t free = frame_free_count();
    two_at_once();
    for (uint32_t words = 0; words <= FRAME_WORDS; words += PIECE) {
        CHECK_EQUAL(create_child(), STATUS_OK);
        begin(HERE, HERE, words);
        kill_child();
        CHECK_EQUAL(process_has_spare(1), 0);
        CHECK_EQUAL(frame_free_count(), free);
    }
    CHECK_EQUAL(process_create(1), STATUS_RESTART);
    given_up();
    CHECK_EQUAL(frame_free_count(), free + 1); /* the page that was unmapped */
    CHECK_EQUAL(invariants_check(), 0);
    world_stop();
    user_call(SYS_THREAD_EXIT, 0, 0, 0, 0, 0);
}

static void copies(void)
{
    world_start(1);
    world_process(0, NONE, 200, 0, 2, 0, 100, NONE);
    world_process(1, 0, 60, 4, 1, 0, 90, NONE);
    process_set_grant(0, CHILD_SLOT, GRANT_PROCESS, 1, 0, NONE);
    CHECK_EQUAL(process_define_segment(1, DATA, 1, IMAGE, 8, PROT_READ | PROT_WRITE, 1), STATUS_OK);
    write_frame(IMAGE, 1000);
    uint32_t free = frame_free_count();
    world_create(0);
    world_start_process(0);
    world_run(copies_program);
    CHECK_EQUAL(frame_free_count(), free);
    CHECK_EQUAL(invariants_check(), 0);
}

int main(void)
{
    pieces(FRAME_WORDS);
    pieces(300);
    pieces(PIECE);
    pieces(1);
    end_between_pieces();
    copies();
    return TEST_END();
}
