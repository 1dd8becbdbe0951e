/* Processes: creation and its refusals, loading, ends in every state, all resources freed, children ended with their
 * parent, and random ends on several CPUs. */
#include "abi.h"
#include "arch.h"
#include "container.h"
#include "endpoint.h"
#include "frame.h"
#include "hosted.h"
#include "invariants.h"
#include "notify.h"
#include "pagemap.h"
#include "process.h"
#include "process_parts.h"
#include "share.h"
#include "spinlock.h"
#include "teardown.h"
#include "test.h"
#include "thread.h"
#include "world.h"

#define CHILD_SLOT 10u
#define CHECK_SLOT 60u
#define WAIT_SLOT 20u
#define SEND_SLOT 21u
#define RECV_SLOT 22u
#define SHARE_SLOT 23u
#define PASS_WRITABLE_SLOT 24u
#define PASS_READ_ONLY_SLOT 25u
#define CODE 0x400000ul
#define DATA 0x600000ul
#define HERE 0x10000000ul
#define IMAGE 100u /* reserved frames that represent the image */

static void leave(void)
{
    user_call(SYS_THREAD_EXIT, 0, 0, 0, 0, 0);
}

static uint32_t usage(void)
{
    user_call(SYS_QUOTA, 0, 0, 0, 0, 0);
    return (uint32_t)user_first();
}

/* ---- one child through its life, step by step ---- */

static void await_end(uint32_t slot, uint64_t cause)
{
    CHECK_EQUAL(user_call(SYS_WAIT, WAIT_SLOT, NOTIFY_FOREVER, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_first(), 1ul << slot);
    CHECK_EQUAL(user_call(SYS_PROCESS_STATUS, slot, 0, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_first(), PROCESS_EMPTY);
    CHECK_EQUAL(user_second(), cause);
    CHECK_EQUAL(invariants_check(), 0);
}

static void parent(void)
{
    uint32_t before = usage();
    uint32_t free_before = frame_free_count();

    CHECK_EQUAL(user_call(SYS_PROCESS_STATUS, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_first(), PROCESS_EMPTY);
    CHECK_EQUAL(user_call(SYS_PROCESS_KILL, CHILD_SLOT, 0, 0, 0, 0), ERR_BAD_STATE);
    CHECK_EQUAL(user_call(SYS_PROCESS_START, CHILD_SLOT, 0, 0, 0, 0), ERR_BAD_STATE);
    CHECK_EQUAL(user_call(SYS_PROCESS_COPY, CHILD_SLOT, HERE, HERE, PROT_READ, 0), ERR_BAD_STATE);
    /* Needs more than the parent's quota. */
    CHECK_EQUAL(user_call(SYS_PROCESS_CREATE, CHILD_SLOT + 1, 0, 0, 0, 0), ERR_QUOTA);
    CHECK_EQUAL(user_call(SYS_PROCESS_CREATE, CHILD_SLOT + 2, 0, 0, 0, 0), ERR_QUOTA); /* too small for its page map */
    CHECK_EQUAL(user_call(SYS_PROCESS_CREATE, WAIT_SLOT, 0, 0, 0, 0), ERR_BAD_SLOT);
    CHECK_EQUAL(usage(), before);
    CHECK_EQUAL(frame_free_count(), free_before);
    CHECK_EQUAL(invariants_check(), 0);

    /* Loaded, with a page of the parent, killed before it starts. */
    CHECK_EQUAL(user_call(SYS_PROCESS_CREATE, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_call(SYS_PROCESS_CREATE, CHILD_SLOT, 0, 0, 0, 0), ERR_BAD_STATE);
    CHECK_EQUAL(usage(), before + 60);
    CHECK_EQUAL(arch_frame_read(pagemap_frame(1, DATA, PROT_WRITE), 3), 77);
    CHECK_EQUAL(arch_frame_read(pagemap_frame(1, DATA, PROT_WRITE), 8), 0); /* beyond what the image holds */
    CHECK_EQUAL(arch_frame_read(pagemap_frame(1, DATA + 4096, PROT_WRITE), 3), 0);
    CHECK_EQUAL(pagemap_frame(1, CODE, PROT_READ), NONE); /* the image's frame has no owner */
    CHECK(pagemap_walk(1, CODE) != 0);
    CHECK_EQUAL(user_call(SYS_MEM_MAP, HERE, 1, PROT_READ | PROT_WRITE, 0, 0), STATUS_OK);
    arch_frame_write(hosted_reach(HERE, 1), 5, 4711);
    CHECK_EQUAL(user_call(SYS_PROCESS_COPY, CHILD_SLOT, DATA, HERE, PROT_READ, 0), ERR_ALREADY_MAPPED);
    CHECK_EQUAL(user_call(SYS_PROCESS_COPY, CHILD_SLOT, HERE, HERE + 4096, PROT_READ, 0), ERR_BAD_ADDRESS);
    CHECK_EQUAL(user_call(SYS_PROCESS_COPY, CHILD_SLOT, HERE, HERE, PROT_READ | PROT_WRITE | PROT_EXEC, 0),
                ERR_BAD_ARGUMENT);
    CHECK_EQUAL(user_call(SYS_PROCESS_COPY, CHILD_SLOT, HERE, HERE, PROT_READ, 0), STATUS_OK);
    CHECK_EQUAL(user_call(SYS_PROCESS_COPY, CHILD_SLOT, MESSAGE_VADDR + 4096, HERE, PROT_READ, 0), ERR_BAD_ADDRESS);
    CHECK_EQUAL(arch_frame_read(pagemap_frame(1, HERE, PROT_READ), 5), 4711);
    CHECK(pagemap_frame(1, HERE, PROT_READ) != hosted_reach(HERE, 0));
    CHECK_EQUAL(user_call(SYS_PROCESS_START, CHILD_SLOT, USER_END, 0, 0, 0), ERR_BAD_ADDRESS);
    CHECK_EQUAL(user_call(SYS_PROCESS_KILL, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_call(SYS_PROCESS_KILL, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK); /* ending already */
    CHECK_EQUAL(user_call(SYS_PROCESS_CREATE, CHILD_SLOT, 0, 0, 0, 0), ERR_BAD_STATE);
    await_end(CHILD_SLOT, END_KILLED);
    CHECK_EQUAL(user_call(SYS_MEM_UNMAP, HERE, 1, 0, 0, 0), STATUS_OK);

    /* Three runs: it exits with a code, is killed while it blocks, ends with its last thread. */
    for (uint32_t life = 0; life < 3; life++) {
        CHECK_EQUAL(user_call(SYS_PROCESS_CREATE, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_call(SYS_PROCESS_START, CHILD_SLOT, CODE, USER_BASE, life, 0), STATUS_OK);
        if (life == 1) {
            user_call(SYS_SLEEP, arch_clock_ns() + 1000, 0, 0, 0, 0);
            CHECK_EQUAL(user_call(SYS_PROCESS_STATUS, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK);
            CHECK_EQUAL(user_first(), PROCESS_RUNNING);
            CHECK_EQUAL(user_call(SYS_PROCESS_KILL, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK);
        }
        await_end(CHILD_SLOT, life == 0 ? END_EXIT | 0x234 << 8 : life == 1 ? END_KILLED : END_EXIT);
        CHECK_EQUAL(usage(), before + 3); /* the tables of HERE stay */
    }
    CHECK_EQUAL(frame_free_count(), free_before - 3);
    world_stop();
    leave();
}

static void life_program(uint32_t thread)
{
    if (thread == NUM_CPU) {
        parent();
    }
    uint64_t life = user_first(); /* rdi: its argument */
    if (life == 0) {
        user_call(SYS_PROCESS_EXIT, 0xffff0234, 0, 0, 0, 0);
        CHECK(0);
    }
    CHECK_EQUAL(user_call(SYS_MEM_MAP, HERE, 20, PROT_READ | PROT_WRITE, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_call(SYS_MEM_MAP, HERE + 20 * 4096, 100, PROT_READ, 0, 0), ERR_QUOTA);
    CHECK(user_second() < 100); /* what did not fit any more */
    CHECK_EQUAL(user_first(), HERE + (120 - user_second()) * 4096);
    CHECK_EQUAL(user_call(SYS_MEM_UNMAP, MESSAGE_VADDR, 1, 0, 0, 0), ERR_BAD_ADDRESS);
    CHECK_EQUAL(user_call(SYS_MEM_MAP, HERE, 1, PROT_READ, 0, 0), ERR_ALREADY_MAPPED);
    if (life == 1) {
        user_call(SYS_SLEEP, NOTIFY_FOREVER, 0, 0, 0, 0);
    }
    leave();
}

static void one_child(void)
{
    world_start(1);
    notify_define(0, 0);
    world_process(0, NONE, 200, 0, 1, 0, 100, NONE);
    world_process(1, 0, 60, 4, 2, 0, 90, NONE);
    world_process(2, 0, 1000, 8, 1, 0, 90, NONE);
    world_process(3, 0, 3, 12, 1, 0, 90, NONE);
    CHECK_EQUAL(process_set_grant(0, WAIT_SLOT, GRANT_NOTIFICATION, 0, RIGHT_WAIT, 0), STATUS_OK);
    CHECK_EQUAL(process_set_grant(0, CHECK_SLOT, GRANT_POWER, 0, 0, 0), STATUS_OK);
    for (uint32_t child = 0; child < 3; child++) {
        process_set_grant(0, CHILD_SLOT + child, GRANT_PROCESS, 1 + child, 0, 0);
    }
    arch_frame_write(IMAGE + 1, 3, 77);
    arch_frame_write(IMAGE + 1, 8, 99); /* part of the next file of the image: must not be copied */
    CHECK_EQUAL(process_define_segment(1, CODE, 1, IMAGE, 0, PROT_READ | PROT_EXEC, 0), STATUS_OK);
    CHECK_EQUAL(process_define_segment(1, DATA, 2, IMAGE + 1, 8, PROT_READ | PROT_WRITE, 1), STATUS_OK);
    CHECK_EQUAL(process_define_segment(1, HERE + 1, 1, IMAGE, 0, PROT_READ, 0), ERR_BAD_ADDRESS);
    CHECK_EQUAL(process_define_segment(1, USER_END - 4096, 2, IMAGE, 0, PROT_READ, 0), ERR_BAD_ADDRESS);
    CHECK_EQUAL(process_define_segment(1, HERE, 0, IMAGE, 0, PROT_READ, 0), ERR_BAD_ADDRESS);
    CHECK_EQUAL(process_define_segment(1, HERE, 1, IMAGE, 0, PROT_READ | PROT_WRITE, 0), ERR_BAD_ARGUMENT);
    world_create(0);
    world_start_process(0);
    world_run(life_program);
    CHECK_EQUAL(invariants_check(), 0);
}

/* ---- creation and mappings in steps, each of which takes at most one frame ---- */

#define FAR 0x500000000000ul /* shares no table with the other pages */

/* What process_create or process_map_page of a page at vaddr returns, step by step, up to the last. */
static uint32_t by_steps(uint64_t vaddr)
{
    uint32_t free_before = frame_free_count();
    uint32_t status = STATUS_RESTART;

    while (status == STATUS_RESTART) {
        status = vaddr == 0 ? process_create(0) : process_map_page(0, vaddr, PROT_READ | PROT_WRITE);
        CHECK(free_before - frame_free_count() <= 1);
        free_before = frame_free_count();
        if (vaddr == 0 && status == STATUS_RESTART) {
            spinlock_kernel_enter();
            CHECK_EQUAL(process_start(0, CODE, USER_BASE, 0), ERR_BAD_STATE);
            spinlock_kernel_exit();
        }
    }
    return status;
}

static void step_by_step(void)
{
    uint64_t vaddr = HERE;

    world_start(1);
    world_process(0, NONE, 40, 0, 1, 0, 100, NONE);
    CHECK_EQUAL(process_define_segment(0, CODE, 1, IMAGE, 0, PROT_READ | PROT_EXEC, 0), STATUS_OK);
    CHECK_EQUAL(process_define_segment(0, DATA, 3, IMAGE + 1, 520, PROT_READ | PROT_WRITE, 1), STATUS_OK);
    arch_frame_write(IMAGE + 1, 3, 77);
    arch_frame_write(IMAGE + 2, 7, 78);
    arch_frame_write(IMAGE + 2, 8, 99); /* of the next file */
    CHECK_EQUAL(by_steps(0), STATUS_OK);
    CHECK_EQUAL(arch_frame_read(pagemap_frame(0, DATA, PROT_WRITE), 3), 77);
    CHECK_EQUAL(arch_frame_read(pagemap_frame(0, DATA + 4096, PROT_WRITE), 7), 78);
    CHECK_EQUAL(arch_frame_read(pagemap_frame(0, DATA + 4096, PROT_WRITE), 8), 0);
    CHECK_EQUAL(arch_frame_read(pagemap_frame(0, DATA + 8192, PROT_WRITE), 3), 0);
    /* As long as the page and its three tables fit; then it is refused before the first of them is made. */
    while (container_quota(0) - container_usage(0) > 3) {
        CHECK_EQUAL(by_steps(vaddr), STATUS_OK);
        vaddr += 4096;
    }
    CHECK_EQUAL(container_quota(0) - container_usage(0), 3);
    CHECK_EQUAL(by_steps(FAR), ERR_QUOTA);
    CHECK_EQUAL(process_map_page(0, HERE, PROT_READ), ERR_ALREADY_MAPPED);
    CHECK_EQUAL(container_quota(0) - container_usage(0), 3);
    CHECK_EQUAL(pagemap_missing(0, FAR), 3);
    CHECK_EQUAL(by_steps(vaddr), STATUS_OK);
    CHECK_EQUAL(invariants_check(), 0);
}

/* While another CPU uses p's pages nothing is done with them, and no frame is kept. */
static void pages_in_use(void)
{
    world_start(1);
    world_process(0, NONE, 40, 0, 1, 0, 100, NONE);
    share_define(0, 0, 0);
    CHECK_EQUAL(by_steps(0), STATUS_OK);
    CHECK_EQUAL(by_steps(HERE), STATUS_OK);
    uint32_t usage = container_usage(0);
    CHECK_EQUAL(process_use_pages(0), 1);
    CHECK_EQUAL(process_use_pages(0), 0);
    CHECK_EQUAL(process_map_page(0, HERE + 4096, PROT_READ), STATUS_RESTART);
    CHECK_EQUAL(process_map_foreign(0, HERE + 4096, IMAGE, PROT_READ, PAGEMAP_IMAGE), STATUS_RESTART);
    CHECK_EQUAL(process_pin_page(0, HERE, PROT_READ), PROCESS_PAGES_USED);
    CHECK_EQUAL(process_offer_page(0, 0, HERE, PROT_READ), STATUS_RESTART);
    CHECK_EQUAL(process_accept_page(0, 0, HERE + 4096, PROT_READ), STATUS_RESTART);
    CHECK_EQUAL(process_unmap_page(0, HERE), STATUS_RESTART);
    CHECK_EQUAL(pagemap_walk(0, HERE) & ARCH_PTE_PINNED, 0);
    CHECK_EQUAL(container_usage(0), usage);
    process_leave_pages(0);
    CHECK_EQUAL(process_offer_page(0, 0, HERE, PROT_READ), STATUS_OK);
    CHECK_EQUAL(process_map_page(0, HERE + 4096, PROT_READ), STATUS_OK);
    CHECK_EQUAL(process_pin_page(0, HERE, PROT_READ), pagemap_frame(0, HERE, PROT_READ));
    CHECK_EQUAL(process_unmap_page(0, HERE), ERR_BAD_STATE);
}

/* A process that ends between the step that clears a frame for a page and the step that fills it gives the frame back. */
static void end_between_steps(void)
{
    world_start(1);
    world_process(0, NONE, 40, 0, 1, 0, 100, NONE);
    CHECK_EQUAL(process_define_segment(0, DATA, 1, IMAGE, 8, PROT_READ | PROT_WRITE, 1), STATUS_OK);
    CHECK_EQUAL(process_create(0), STATUS_RESTART);
    while (pagemap_missing(0, DATA) != 0) {
        CHECK_EQUAL(process_create(0), STATUS_RESTART);
    }
    uint32_t before = frame_free_count();
    CHECK_EQUAL(process_create(0), STATUS_RESTART);
    CHECK_EQUAL(frame_free_count(), before - 1);
    CHECK_EQUAL(pagemap_walk(0, DATA), 0);
    spinlock_kernel_enter();
    CHECK_EQUAL(process_kill(0, END_KILLED), STATUS_OK);
    while (teardown_step(0) == 1) {
    }
    CHECK_EQUAL(frame_free_count(), WORLD_FRAMES - 1);
    process_return_quota(0);
    process_finish(0);
    spinlock_kernel_exit();
    CHECK_EQUAL(frame_free_count(), WORLD_FRAMES);
    CHECK_EQUAL(process_state(0), PROCESS_EMPTY);
    CHECK_EQUAL(container_usage(0), 0);
}

/* What another CPU may ask for while one builds a process: nothing happens to it until that is over. */
static void ask_while_built(void)
{
    spinlock_kernel_enter();
    process_lock(0);
    process_build_begin(0);
    process_unlock(0);
    CHECK_EQUAL(process_create(0), STATUS_RESTART);
    CHECK_EQUAL(process_start(0, 0, 0, 0), STATUS_RESTART);
    hosted_raise(0, VECTOR_SPURIOUS);
    CHECK_EQUAL(process_copy_page(0, HERE, HERE, PROT_READ), STATUS_RESTART);
    hosted_lower(0, VECTOR_SPURIOUS);
    CHECK_EQUAL(process_kill(0, END_KILLED), STATUS_OK);
    CHECK_EQUAL(process_kill(0, END_EXIT), STATUS_OK); /* the first cause stands */
    CHECK_EQUAL(process_state(0), PROCESS_LOADING);
    CHECK_EQUAL(process_dying(0), 0);
}

static void ended_while_built(void)
{
    world_start(1);
    notify_define(2, 1);
    notify_open(2);
    world_process(0, NONE, 40, 0, 1, 0, 100, NONE);
    process_set_death(0, 2, 8);
    CHECK_EQUAL(process_create(0), STATUS_RESTART);
    ask_while_built();
    process_build_end(0, PROCESS_LOADING);
    CHECK_EQUAL(process_state(0), PROCESS_DYING);
    CHECK_EQUAL(process_dying(0), 1);
    while (teardown_step(0) == 1) {
    }
    process_return_quota(0);
    process_finish(0);
    CHECK_EQUAL(process_state(0), PROCESS_EMPTY);
    CHECK_EQUAL(process_end_cause(0), END_KILLED);
    CHECK_EQUAL(notify_poll(2), 8);

    spinlock_kernel_exit();
}

/* While another CPU undoes a creation, the process is not ended: there may be nothing left that a thread could tear down. */
static void not_ended_while_undone(void)
{
    world_start(1);
    world_process(0, NONE, 3, 0, 1, 0, 100, NONE); /* too small for its message page */
    spinlock_kernel_enter();
    CHECK_EQUAL(process_create(0), STATUS_RESTART);
    CHECK_EQUAL(process_create(0), STATUS_RESTART);
    process_lock(0);
    CHECK_EQUAL(process_being_undone(0), 1);
    process_build_begin(0);
    process_unlock(0);
    CHECK_EQUAL(process_kill(0, END_KILLED), STATUS_RESTART);
    process_build_end(0, PROCESS_LOADING);
    CHECK_EQUAL(process_state(0), PROCESS_LOADING);
    uint32_t status = STATUS_RESTART;
    while (status == STATUS_RESTART) {
        status = process_create(0);
    }
    spinlock_kernel_exit();
    CHECK_EQUAL(status, ERR_QUOTA);
    CHECK_EQUAL(process_state(0), PROCESS_EMPTY);
    CHECK_EQUAL(frame_free_count(), WORLD_FRAMES);
}

/* ---- a shared page outlives the process that offered it ---- */

static void share_program(uint32_t thread)
{
    if (thread == NUM_CPU) {
        CHECK_EQUAL(user_call(SYS_SHARE_ACCEPT, SHARE_SLOT, HERE, PROT_READ, 0, 0), ERR_WOULD_BLOCK);
        user_call(SYS_SLEEP, 1000, 0, 0, 0, 0);
        CHECK_EQUAL(user_call(SYS_SHARE_ACCEPT, SHARE_SLOT, MESSAGE_VADDR, PROT_READ, 0, 0), ERR_BAD_ADDRESS);
        CHECK_EQUAL(user_call(SYS_SHARE_OFFER, SHARE_SLOT, HERE, 0, 0, 0), ERR_BAD_SLOT);
        CHECK_EQUAL(user_call(SYS_SHARE_ACCEPT, SHARE_SLOT, HERE, PROT_READ | PROT_WRITE, 0, 0), ERR_BAD_SLOT);
        CHECK_EQUAL(user_call(SYS_SHARE_ACCEPT, SHARE_SLOT, HERE, PROT_READ, 0, 0), STATUS_OK);
        /* What may only be read here may not be written where it is passed on to. */
        CHECK_EQUAL(user_call(SYS_SHARE_OFFER, PASS_WRITABLE_SLOT, HERE, 0, 0, 0), ERR_BAD_ADDRESS);
        CHECK_EQUAL(user_call(SYS_SHARE_OFFER, PASS_READ_ONLY_SLOT, HERE, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_call(SYS_SHARE_WITHDRAW, PASS_READ_ONLY_SLOT, 0, 0, 0, 0), STATUS_OK);
        uint32_t frame = hosted_reach(HERE, 0);
        CHECK_EQUAL(hosted_reach(HERE, 1), NONE);
        CHECK_EQUAL(frame_owners(frame), 3);
        CHECK_EQUAL(arch_frame_read(frame, 9), 31337);
        CHECK_EQUAL(user_call(SYS_PROCESS_KILL, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK);
        user_call(SYS_SLEEP, 2000, 0, 0, 0, 0);
        CHECK_EQUAL(frame_owners(frame), 1);
        CHECK_EQUAL(hosted_reach(HERE, 0), frame);
        CHECK_EQUAL(arch_frame_read(frame, 9), 31337);
        CHECK_EQUAL(user_call(SYS_MEM_UNMAP, HERE, 1, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(frame_state(frame), FRAME_FREE);
        CHECK_EQUAL(invariants_check(), 0);
        world_stop();
        leave();
    }
    CHECK_EQUAL(user_call(SYS_SHARE_OFFER, SHARE_SLOT, HERE, 0, 0, 0), ERR_BAD_ADDRESS);
    CHECK_EQUAL(user_call(SYS_MEM_MAP, HERE, 2, PROT_READ | PROT_WRITE, 0, 0), STATUS_OK);
    arch_frame_write(hosted_reach(HERE, 1), 9, 31337);
    CHECK_EQUAL(user_call(SYS_SHARE_WITHDRAW, SHARE_SLOT, 0, 0, 0, 0), ERR_BAD_STATE);
    CHECK_EQUAL(user_call(SYS_SHARE_OFFER, SHARE_SLOT, HERE + 4096, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_call(SYS_SHARE_OFFER, SHARE_SLOT, HERE, 0, 0, 0), ERR_BAD_STATE);
    /* Unmapping the page withdraws the offer, so that no process accepts a frame that the offerer no longer owns. */
    CHECK_EQUAL(user_call(SYS_MEM_UNMAP, HERE + 4096, 1, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_call(SYS_SHARE_WITHDRAW, SHARE_SLOT, 0, 0, 0, 0), ERR_BAD_STATE);
    CHECK_EQUAL(user_call(SYS_SHARE_OFFER, SHARE_SLOT, HERE, 0, 0, 0), STATUS_OK);
    user_call(SYS_SLEEP, NOTIFY_FOREVER, 0, 0, 0, 0);
}

static void shared_page(void)
{
    world_start(1);
    world_process(0, NONE, 200, 0, 1, 0, 100, NONE);
    world_process(1, 0, 60, 4, 1, 0, 90, NONE);
    share_define(4, 1, 0);
    process_set_grant(0, SHARE_SLOT, GRANT_SHARE, 4, RIGHT_ACCEPT, 0);
    process_set_grant(1, SHARE_SLOT, GRANT_SHARE, 4, RIGHT_OFFER, 0);
    share_define(5, 0, 1);
    process_set_grant(0, PASS_WRITABLE_SLOT, GRANT_SHARE, 5, RIGHT_OFFER | RIGHT_WRITE, 0);
    share_define(6, 0, 1);
    process_set_grant(0, PASS_READ_ONLY_SLOT, GRANT_SHARE, 6, RIGHT_OFFER, 0);
    process_set_grant(0, CHILD_SLOT, GRANT_PROCESS, 1, 0, NONE);
    for (uint32_t p = 0; p < 2; p++) {
        world_create(p);
        world_start_process(p);
    }
    world_run(share_program);
}

/* ---- random ends on several CPUs: a server, clients, a child with a child, all restarted repeatedly ---- */

#define CHILDREN 4u /* processes 1..4; 5 is the child of 4 */
static uint64_t kills;

static void worker(uint32_t p, uint32_t first)
{
    uint64_t page = HERE;
    uint64_t round = 0; /* how long the last one took */

    if (p == 4 && first) {
        CHECK_EQUAL(user_call(SYS_PROCESS_CREATE, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_call(SYS_PROCESS_START, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK);
    }
    if (p != 5 && first) {
        user_call(SYS_THREAD_START, 1, USER_BASE, USER_BASE, 0, 0);
    }
    for (;;) {
        if (p == 1) {
            user_call(SYS_REPLY_RECV, RECV_SLOT, 3, 0, 0, 0);
        } else {
            uint32_t status = user_call(SYS_CALL, SEND_SLOT, 20, 0, 0, 0);
            CHECK(status == STATUS_OK || status == ERR_PEER_DEAD);
            if (status == ERR_PEER_DEAD) {
                /* The server ends at its own priority, the lowest. Up to four clients share a CPU: they leave it time,
                 * however slow the host and its sanitizer are. */
                user_call(SYS_SLEEP, arch_clock_ns() + 20000 + 8 * round, 0, 0, 0, 0);
            }
        }
        round = arch_clock_ns();
        user_call(SYS_MEM_MAP, page, 3, PROT_READ | PROT_WRITE, 0, 0);
        user_call(SYS_MEM_UNMAP, page, 3, 0, 0, 0);
        round = arch_clock_ns() - round;
        page = HERE + (page * 5 & 0xf000);
    }
}

static void random_program(uint32_t thread)
{
    uint64_t state = test_seed;

    if (thread != NUM_CPU) {
        worker((thread - NUM_CPU) / 4, thread % 4 == 0);
    }
    uint32_t before = usage();
    for (uint32_t child = 1; child <= CHILDREN; child++) {
        CHECK_EQUAL(user_call(SYS_PROCESS_CREATE, CHILD_SLOT + child, 0, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_call(SYS_PROCESS_START, CHILD_SLOT + child, 0, 0, 0, 0), STATUS_OK);
    }
    uint32_t with_all = usage();
    for (uint64_t i = 0; i < kills; i++) {
        uint32_t slot = CHILD_SLOT + 1 + (uint32_t)(test_random_of(&state) % CHILDREN);
        user_call(SYS_SLEEP, arch_clock_ns() + test_random_of(&state) % 60000, 0, 0, 0, 0);
        CHECK_EQUAL(user_call(SYS_PROCESS_KILL, slot, 0, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_call(SYS_WAIT, WAIT_SLOT, NOTIFY_FOREVER, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_first(), 1ul << slot);
        CHECK_EQUAL(user_call(SYS_PROCESS_STATUS, slot, 0, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_first(), PROCESS_EMPTY);
        CHECK_EQUAL(usage(), with_all - 100);
        if (i % 16 == 0) {
            CHECK_EQUAL(user_call(SYS_CHECK, CHECK_SLOT, 0, 0, 0, 0), STATUS_OK);
            if (!CHECK_EQUAL(user_first(), 0)) {
                break;
            }
        }
        CHECK_EQUAL(user_call(SYS_PROCESS_CREATE, slot, 0, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_call(SYS_PROCESS_START, slot, 0, 0, 0, 0), STATUS_OK);
    }
    for (uint32_t child = 1; child <= CHILDREN; child++) {
        user_call(SYS_PROCESS_KILL, CHILD_SLOT + child, 0, 0, 0, 0);
        uint64_t deadline = arch_clock_ns() + 10000000000ul;
        do {
            user_call(SYS_SLEEP, arch_clock_ns() + 50000, 0, 0, 0, 0);
            user_call(SYS_PROCESS_STATUS, CHILD_SLOT + child, 0, 0, 0, 0);
        } while (user_first() != PROCESS_EMPTY && arch_clock_ns() < deadline);
    }
    CHECK_EQUAL(usage(), before);
    CHECK_EQUAL(user_call(SYS_CHECK, CHECK_SLOT, 0, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_first(), 0);
    world_stop();
    leave();
}

static void random_ends(uint32_t cpus)
{
    world_start(cpus);
    kills = test_operations(1000);
    notify_define(0, 0);
    endpoint_define(0, 1, 0);
    world_process(0, NONE, 1000, 0, 1, 0, 200, NONE);
    process_set_grant(0, WAIT_SLOT, GRANT_NOTIFICATION, 0, RIGHT_WAIT, 0);
    for (uint32_t p = 1; p <= 5; p++) {
        world_process(p, p == 5 ? 4 : 0, p == 5 ? 40 : 100, 4 * p, p == 5 ? 1 : 2, p, 100 + p, NONE);
        process_set_grant(p == 5 ? 4 : 0, CHILD_SLOT + (p == 5 ? 0 : p), GRANT_PROCESS, p, 0, p == 5 ? NONE : 0);
        process_set_grant(p, p == 1 ? RECV_SLOT : SEND_SLOT, GRANT_ENDPOINT, 0, p == 1 ? RIGHT_RECV : RIGHT_SEND, p);
    }
    world_create(0);
    world_start_process(0);
    world_run(random_program);
    CHECK_EQUAL(invariants_check(), 0);
}

int main(void)
{
    test_random_start();
    one_child();
    step_by_step();
    pages_in_use();
    end_between_steps();
    ended_while_built();
    not_ended_while_undone();
    shared_page();
    random_ends(2);
    random_ends(4);
    return TEST_END();
}
