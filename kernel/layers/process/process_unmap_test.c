/* Unmapping in steps: what holds after each, that a thread which leaves the rest for later finishes it before it unmaps
 * another page, and that a process which ends in between loses no frame. */
#include "abi.h"
#include "frame.h"
#include "hosted.h"
#include "invariants.h"
#include "pagemap.h"
#include "process.h"
#include "test.h"
#include "world.h"

#define HERE 0x10000000ul
#define NEXT (HERE + 4096)
#define THREADS 3u

static uint32_t finishes; /* 1: the thread comes back to what it has begun */
static uint32_t frames[2];

/* Unmaps a page to the end; returns the number of steps. */
static uint32_t finish(uint64_t vaddr)
{
    uint32_t steps = 1;
    while (process_unmap_page(0, vaddr) == STATUS_RESTART && steps < 100) {
        user_interrupts();
        steps++;
    }
    return steps;
}

/* Unmapping a page that is not the process's own frees no frame: nor that of the page unmapped before, which the process
 * has got again. */
static void not_its_own(void)
{
    CHECK_EQUAL(user_call(SYS_MEM_MAP, HERE, 2, PROT_READ | PROT_WRITE, 0, 0), STATUS_OK);
    CHECK(hosted_reach(HERE, 1) == frames[1] || hosted_reach(NEXT, 1) == frames[1]);
    while (process_map_foreign(0, HERE + 8192, 1, PROT_READ, PAGEMAP_DEVICE) == STATUS_RESTART) {
    }
    CHECK_EQUAL(finish(HERE + 8192), 6);
    CHECK_EQUAL(frame_owners(frames[1]), 1);
}

static void program(uint32_t thread)
{
    if (thread != NUM_CPU) { /* they make other CPUs hold translations of the process */
        while (!world_stopped()) {
            user_call(SYS_YIELD, 0, 0, 0, 0, 0);
        }
        user_call(SYS_THREAD_EXIT, 0, 0, 0, 0, 0);
        return;
    }
    CHECK_EQUAL(user_call(SYS_MEM_MAP, HERE, 2, PROT_READ | PROT_WRITE, 0, 0), STATUS_OK);
    for (uint32_t i = 1; i < THREADS; i++) {
        CHECK_EQUAL(user_call(SYS_THREAD_START, i, 0x1000000, 0x2000000, 0, 0), STATUS_OK);
    }
    frames[0] = hosted_reach(HERE, 1);
    frames[1] = hosted_reach(NEXT, 1);
    CHECK_EQUAL(process_unmap_page(0, HERE + 8192), ERR_BAD_ADDRESS);
    CHECK_EQUAL(process_unmap_page(0, HERE), STATUS_RESTART);
    CHECK_EQUAL(hosted_reach(HERE, 0), NONE);
    CHECK_EQUAL(frame_owners(frames[0]), 1); /* other CPUs may still reach it */
    if (finishes) {
        /* Each of the two others is asked and awaited; then come the second page's steps. */
        CHECK_EQUAL(finish(NEXT), 5 + 6);
        CHECK_EQUAL(frame_owners(frames[0]), 0);
        CHECK_EQUAL(frame_owners(frames[1]), 0);
        CHECK_EQUAL(hosted_reach(NEXT, 0), NONE);
        not_its_own();
    }
    world_stop();
    user_call(SYS_THREAD_EXIT, 0, 0, 0, 0, 0);
}

static void run(uint32_t comes_back)
{
    finishes = comes_back;
    world_start(THREADS);
    uint32_t free = frame_free_count();
    world_process(0, NONE, 100, 0, THREADS, 0, 100, NONE);
    world_create(0);
    world_start_process(0);
    world_run(program);
    CHECK_EQUAL(process_state(0), PROCESS_EMPTY);
    CHECK_EQUAL(frame_free_count(), free);
    CHECK_EQUAL(invariants_check(), 0);
}

int main(void)
{
    run(0);
    run(1);
    return TEST_END();
}
