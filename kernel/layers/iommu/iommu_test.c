/* What devices reach, seen from a modelled unit that walks the tables itself: exactly the pages that their process
 * has named, before, between and after changes; what it costs; and the same through system calls. */
#include "iommu.h"

#include <string.h>

#include "abi.h"
#include "arch.h"
#include "console.h"
#include "container.h"
#include "device.h"
#include "frame.h"
#include "hosted.h"
#include "process.h"
#include "invariants.h"
#include "test.h"
#include "world.h"

#define FIRST HOSTED_FIRST_FRAME
#define USABLE 40000u
#define FRAMES 3000u
#define NUM_DRIVER 3u
#define STRANGER 0x77u /* a function without owner */
#define READ_WRITE (PROT_READ | PROT_WRITE)

static uint32_t page(uint32_t frame, uint32_t write, uint32_t function)
{
    return hosted_iommu_reach(function, (uint64_t)frame * 4096 + 8, write);
}

/* Driver p has functions 16 p and 16 p + 1. */
static void start(uint32_t levels, uint32_t quota)
{
    hosted_reset(1);
    console_init();
    hosted_iommu_set_levels(levels);
    container_init(60000);
    frame_init();
    frame_make_usable(FIRST, USABLE);
    iommu_init();
    for (uint32_t p = 0; p < NUM_DRIVER; p++) {
        CHECK_EQUAL(container_split(CONTAINER_ROOT, p, quota), STATUS_OK);
        iommu_define(16 * p, p);
        iommu_define(16 * p + 1, p);
        iommu_define(16 * p, p); /* a second window of the same function */
    }
}

static void destroy(uint32_t p)
{
    uint32_t steps = 0;
    while (iommu_destroy_step(p) && steps < 10000) {
        steps++;
    }
    CHECK(steps < 10000);
}

/* Maps by at most so many calls. */
static uint32_t map_at_within(uint32_t p, uint64_t address, uint32_t frame, uint32_t prot, uint32_t calls)
{
    uint32_t status = STATUS_RESTART;
    for (uint32_t i = 0; i < calls && status == STATUS_RESTART; i++) {
        status = iommu_map(p, address, frame, prot);
    }
    return status;
}

static uint32_t map_within(uint32_t p, uint32_t frame, uint32_t prot, uint32_t calls)
{
    return map_at_within(p, (uint64_t)frame * 4096, frame, prot, calls);
}

/* Calls for one function: attaching it, and telling each unit. */
static uint32_t calls_a_function(void)
{
    return 1 + arch_iommu_units();
}

/* Calls for so many tables: making one, showing it, and linking it. */
static uint32_t calls_for_tables(uint32_t count)
{
    return (2 + ARCH_IOMMU_PARTS) * count;
}

/* Tables are made, and devices get their domain, one by one. */
static uint32_t map_at(uint32_t p, uint64_t address, uint32_t frame, uint32_t prot)
{
    return map_at_within(p, address, frame, prot, calls_for_tables(4) + 1 + NUM_DEVICE * calls_a_function());
}

static uint32_t map(uint32_t p, uint32_t frame, uint32_t prot)
{
    return map_at(p, (uint64_t)frame * 4096, frame, prot);
}

/* So many steps of p's end, none of which is the last. */
static void end_steps(uint32_t p, uint32_t steps)
{
    for (uint32_t i = 0; i < steps; i++) {
        CHECK_EQUAL(iommu_destroy_step(p), 1);
    }
}

static void without(void)
{
    start(0, 100);
    uint32_t frame = frame_alloc(0);
    CHECK_EQUAL(map(0, frame, READ_WRITE), STATUS_OK);
    CHECK_EQUAL(iommu_walk(0, (uint64_t)frame * 4096, 0), NONE);
    CHECK_EQUAL(container_usage(0), 1);
    CHECK_EQUAL(iommu_destroy_step(0), 0);
    CHECK_EQUAL(page(frame, 1, STRANGER), frame); /* devices reach all memory */
    iommu_take_faults();
    CHECK_EQUAL(iommu_faults(NONE), 0);
}

static void edges(uint32_t levels)
{
    start(levels, 100);
    uint32_t own = frame_alloc(0);
    uint32_t other = frame_alloc(1);
    CHECK_EQUAL(page(own, 0, 0), NONE);
    CHECK_EQUAL(map(0, own, PROT_READ), STATUS_OK);
    CHECK_EQUAL(container_usage(0), 1 + levels);
    CHECK_EQUAL(page(own, 0, 0), own);
    CHECK_EQUAL(page(own, 0, 1), own);
    CHECK_EQUAL(page(own, 1, 0), NONE); /* read only */
    CHECK_EQUAL(iommu_walk(0, (uint64_t)own * 4096, 0), own);
    CHECK_EQUAL(iommu_walk(0, (uint64_t)own * 4096, 1), NONE);
    CHECK_EQUAL(page(own, 0, 16), NONE);
    CHECK_EQUAL(page(own, 0, STRANGER), NONE);
    CHECK_EQUAL(page(own - 1, 0, 0), NONE);
    CHECK_EQUAL(page(own + 1, 0, 0), NONE);
    CHECK_EQUAL(hosted_iommu_reach(0, (1ul << 32) + own * 4096ul, 0), NONE); /* the same index in a higher table */
    CHECK_EQUAL(hosted_iommu_reach(0, (1ul << 39) + own * 4096ul, 0), NONE);
    CHECK_EQUAL(hosted_iommu_reach(0, ~0ul - 4095, 0), NONE);
    CHECK_EQUAL(map(1, other, READ_WRITE), STATUS_OK);
    CHECK_EQUAL(page(other, 1, 17), other);
    CHECK_EQUAL(page(other, 1, 0), NONE);
    CHECK_EQUAL(map(0, own, READ_WRITE), STATUS_OK); /* named before: as it was */
    CHECK_EQUAL(page(own, 1, 0), NONE);
    CHECK_EQUAL(container_usage(0), 1 + levels);
    CHECK_EQUAL(iommu_check(), 0);

    /* The first steps take everything from the devices, also what the unit has kept, while the frames are still
     * owned. */
    end_steps(0, 2 * calls_a_function());
    CHECK_EQUAL(container_usage(0), 1 + levels);
    CHECK_EQUAL(page(own, 0, 0), NONE);
    CHECK_EQUAL(page(own, 0, 1), NONE);
    CHECK_EQUAL(frame_owners(own), 1);
    CHECK_EQUAL(page(other, 1, 17), other);
    destroy(0);
    CHECK_EQUAL(container_usage(0), 1);
    CHECK_EQUAL(iommu_walk(0, (uint64_t)own * 4096, 0), NONE);
    CHECK_EQUAL(iommu_destroy_step(0), 0);
    /* And again, as for a process that is created again. */
    CHECK_EQUAL(map(0, own, READ_WRITE), STATUS_OK);
    CHECK_EQUAL(page(own, 1, 0), own);
    destroy(0);
    destroy(1);
    CHECK_EQUAL(iommu_check(), 0);
}

/* If the quota is exhausted half-way up the tables, nothing changes. */
/* A monitor gives its guest's device the guest's addresses. */
static void places(uint32_t levels)
{
    const uint64_t low = 0x1000, high = IOMMU_ADDRESS_END - 4096;
    start(levels, 100);
    CHECK_EQUAL(iommu_present(), 1);
    uint32_t own = frame_alloc(0);
    uint32_t more = frame_alloc(0);
    uint32_t other = frame_alloc(1);
    CHECK_EQUAL(map_at(0, low, own, READ_WRITE), STATUS_OK);
    CHECK_EQUAL(hosted_iommu_reach(0, low + 8, 1), own);
    CHECK_EQUAL(page(own, 0, 0), NONE); /* only where it was put */
    CHECK_EQUAL(hosted_iommu_reach(16, low, 0), NONE);
    CHECK_EQUAL(map_at(0, high, more, PROT_READ), STATUS_OK);
    CHECK_EQUAL(hosted_iommu_reach(0, high, 0), more);
    CHECK_EQUAL(hosted_iommu_reach(0, high, 1), NONE);
    CHECK_EQUAL(iommu_walk(0, high, 0), more);
    CHECK_EQUAL(iommu_walk(0, IOMMU_ADDRESS_END + low, 0), NONE);
    CHECK_EQUAL(iommu_check(), 0);
    /* One place has one frame, and a frame may have several. */
    uint64_t used = container_usage(0);
    CHECK_EQUAL(map_at(0, low, more, READ_WRITE), ERR_ALREADY_MAPPED);
    CHECK_EQUAL(hosted_iommu_reach(0, low, 1), own);
    CHECK_EQUAL(container_usage(0), used);
    CHECK_EQUAL(map_at(0, low, own, READ_WRITE), STATUS_OK);
    CHECK_EQUAL(map_at(0, low + 4096, own, READ_WRITE), STATUS_OK);
    CHECK_EQUAL(hosted_iommu_reach(0, low + 4096, 1), own);
    /* Another domain has its own places. */
    CHECK_EQUAL(map_at(1, low, other, READ_WRITE), STATUS_OK);
    CHECK_EQUAL(hosted_iommu_reach(17, low, 1), other);
    CHECK_EQUAL(hosted_iommu_reach(0, low, 1), own);
    CHECK_EQUAL(iommu_check(), 0);
    destroy(0);
    CHECK_EQUAL(hosted_iommu_reach(0, low, 0), NONE);
    CHECK_EQUAL(hosted_iommu_reach(0, high, 0), NONE);
    CHECK_EQUAL(hosted_iommu_reach(17, low, 1), other);
    CHECK_EQUAL(container_usage(0), 2);
    destroy(1);
    CHECK_EQUAL(iommu_check(), 0);
}

static void quota(uint32_t levels)
{
    for (uint32_t room = 0; room < levels; room++) {
        start(levels, room);
        CHECK_EQUAL(map(0, FIRST, READ_WRITE), ERR_QUOTA);
        CHECK_EQUAL(container_usage(0), 0);
        CHECK_EQUAL(page(FIRST, 0, 0), NONE);
        CHECK_EQUAL(iommu_check(), 0);
        CHECK_EQUAL(iommu_destroy_step(0), 0);
    }
    /* Room for the first path, and for one more table of pages. */
    start(levels, levels + 1);
    CHECK_EQUAL(map(0, 512, READ_WRITE), STATUS_OK);
    CHECK_EQUAL(map(0, 513, READ_WRITE), STATUS_OK);
    CHECK_EQUAL(map(0, 1024, READ_WRITE), STATUS_OK);
    CHECK_EQUAL(map(0, 1536, READ_WRITE), ERR_QUOTA);
    CHECK_EQUAL(page(1536, 0, 0), NONE);
    CHECK_EQUAL(page(1024, 1, 0), 1024);
    CHECK_EQUAL(page(513, 1, 1), 513);
    destroy(0);
    CHECK_EQUAL(container_usage(0), 0);
}

/* ---- random operations against a flat model ---- */

#define BASE (FIRST + USABLE - FRAMES)

static uint8_t model[NUM_DRIVER][FRAMES]; /* 0 nothing, 1 read, 2 read and write */

static void compare(uint32_t frame)
{
    for (uint32_t p = 0; p < NUM_DRIVER; p++) {
        uint32_t function = 16 * p + test_random(2);
        uint32_t expected = BASE + frame;
        CHECK_EQUAL(page(BASE + frame, 0, function), model[p][frame] > 0 ? expected : NONE);
        CHECK_EQUAL(page(BASE + frame, 1, function), model[p][frame] > 1 ? expected : NONE);
    }
    CHECK_EQUAL(page(BASE + frame, 0, STRANGER), NONE);
}

static void random_operations(uint32_t levels)
{
    uint64_t operations = test_operations(20000);
    start(levels, FRAMES + 200);
    memset(model, 0, sizeof model);
    for (uint32_t i = 0; i < FRAMES; i++) {
        uint32_t frame = frame_alloc(0);
        /* The highest ones; all drivers own all frames: the accounts are checked apart. */
        CHECK(frame >= BASE && frame < BASE + FRAMES);
        CHECK_EQUAL(frame_add_owner(frame, 1), STATUS_OK);
        CHECK_EQUAL(frame_add_owner(frame, 2), STATUS_OK);
    }
    for (uint64_t i = 0; i < operations; i++) {
        uint32_t p = test_random(NUM_DRIVER);
        uint32_t frame = test_random(FRAMES);
        uint32_t prot = test_random(2) ? READ_WRITE : PROT_READ;
        if (test_random(500) == 0) {
            if (test_random(2)) {
                destroy(p);
                CHECK_EQUAL(container_usage(p), FRAMES);
                memset(model[p], 0, sizeof model[p]);
            } else {
                CHECK_EQUAL(iommu_check(), 0);
            }
        } else {
            CHECK_EQUAL(map(p, BASE + frame, prot), STATUS_OK);
            model[p][frame] = model[p][frame] ? model[p][frame] : prot == PROT_READ ? 1 : 2;
        }
        compare(frame);
        compare(test_random(FRAMES));
    }
    for (uint32_t p = 0; p < NUM_DRIVER; p++) {
        destroy(p);
        CHECK_EQUAL(container_usage(p), FRAMES);
        memset(model[p], 0, sizeof model[p]);
    }
    for (uint32_t frame = 0; frame < FRAMES; frame++) {
        compare(frame);
    }
    CHECK_EQUAL(frame_check(), 0);
}

/* ---- refusals ---- */

/* Takes steps until CPU 0 interrupts itself no more. */
static void take_faults(void)
{
    do {
        hosted_lower(0, VECTOR_IOMMU);
        iommu_take_faults();
    } while (hosted_raised(0, VECTOR_IOMMU));
}

static void faults(void)
{
    static char text[4096];
    start(3, 100);
    CHECK_EQUAL(hosted_iommu_reach(16, 0x12345678, 1), NONE);
    CHECK_EQUAL(hosted_iommu_reach(STRANGER, 0xfedcba9876543000, 0), NONE);
    take_faults();
    console_drain();
    text[hosted_serial_output(text, sizeof text - 1)] = 0;
    CHECK(strcmp(text, "iommu: 0010 w 0000000012345678\niommu: 0077 r fedcba9876543000\n") == 0);
    CHECK_EQUAL(iommu_faults(1), 1);
    CHECK_EQUAL(iommu_faults(0), 0);
    CHECK_EQUAL(iommu_faults(NONE), 1);
    /* The units interrupt as long as refusals are printed. */
    iommu_listen(0);
    CHECK_EQUAL(hosted_iommu_reach(16, 0x1000, 0), NONE);
    CHECK_EQUAL(hosted_raised(0, VECTOR_IOMMU), 1);
    take_faults();
    /* Of a flood all recorded refusals are counted, and a limited number is printed. */
    for (uint32_t i = 0; i < 1000; i++) {
        CHECK_EQUAL(hosted_iommu_reach(0, 4096ul * i, 0), NONE);
        take_faults();
        console_drain();
        hosted_serial_output(text, sizeof text);
    }
    take_faults();
    console_drain();
    CHECK_EQUAL(hosted_serial_output(text, sizeof text), 0);
    CHECK_EQUAL(iommu_faults(0), 1000);
    CHECK_EQUAL(hosted_iommu_reach(16, 0x1000, 0), NONE);
    CHECK_EQUAL(hosted_raised(0, VECTOR_IOMMU), 0);
}

/* A process with all the functions that there can be: each call and each step is about one of them. */
static void pieces(void)
{
    start(3, 100);
    iommu_init();
    for (uint32_t i = 0; i < NUM_DEVICE; i++) {
        iommu_define(i, i == 20 ? 1 : 0);
    }
    uint32_t frame = frame_alloc(0);
    CHECK_EQUAL(map_within(0, frame, READ_WRITE, calls_for_tables(3)), STATUS_RESTART); /* no function is attached */
    CHECK_EQUAL(page(frame, 1, 0), NONE);
    CHECK_EQUAL(container_usage(0), 4);
    for (uint32_t i = 0; i + 1 < NUM_DEVICE; i++) {
        CHECK_EQUAL(map_within(0, frame, READ_WRITE, calls_a_function()), STATUS_RESTART);
        uint32_t last = i < 20 ? i : i + 1;
        CHECK_EQUAL(page(frame, 1, last), frame);
        if (i + 2 < NUM_DEVICE) {
            CHECK_EQUAL(page(frame, 1, last == 19 ? 21 : last + 1), NONE);
        }
    }
    CHECK_EQUAL(iommu_map(0, (uint64_t)frame * 4096, frame, READ_WRITE), STATUS_OK);
    CHECK_EQUAL(page(frame, 1, NUM_DEVICE - 1), frame);
    CHECK_EQUAL(page(frame, 1, 20), NONE);
    CHECK_EQUAL(iommu_check(), 0);
    /* The end also comes to a domain that not all have. */
    destroy(0);
    CHECK_EQUAL(iommu_map(0, (uint64_t)frame * 4096, frame, READ_WRITE), STATUS_RESTART);
    CHECK_EQUAL(container_usage(0), 2);
    destroy(0);
    CHECK_EQUAL(container_usage(0), 1);
    CHECK_EQUAL(map_within(0, frame, READ_WRITE, calls_for_tables(3) + 2 * calls_a_function()), STATUS_RESTART);
    CHECK_EQUAL(page(frame, 1, 1), frame);
    destroy(0);
    for (uint32_t i = 0; i < NUM_DEVICE; i++) {
        CHECK_EQUAL(page(frame, 0, i), NONE);
    }
    CHECK_EQUAL(iommu_check(), 0);
}

static uint64_t counted(void)
{
    uint64_t all = iommu_faults(NONE);
    for (uint32_t p = 0; p < NUM_DRIVER; p++) {
        all += iommu_faults(p);
    }
    return all;
}

/* Many refusals at once: a step counts at most one, and the CPU interrupts itself as long as refusals are printed; after
 * that it stops at each, and later calls count what is still recorded. None is lost. */
static void burst(void)
{
    static char text[4096];
    uint32_t steps = 0;

    start(3, 100);
    iommu_listen(0);
    for (uint32_t i = 0; i < 60; i++) {
        CHECK_EQUAL(hosted_iommu_reach(16 * (i % NUM_DRIVER), 4096ul * i, i & 1), NONE);
    }
    while (hosted_raised(0, VECTOR_IOMMU) && steps < 1000) {
        uint64_t before = counted();
        hosted_lower(0, VECTOR_IOMMU);
        iommu_take_faults();
        CHECK(counted() - before <= 1);
        steps++;
    }
    CHECK_EQUAL(steps, 32 * 5 + 1); /* the last one mutes the units */
    CHECK_EQUAL(counted(), 32);
    console_drain();
    text[hosted_serial_output(text, sizeof text - 1)] = 0;
    CHECK_EQUAL(strlen(text), 32 * strlen("iommu: 0010 w 0000000012345678\n"));
    CHECK(strncmp(text, "iommu: 0000 r 0000000000000000\niommu: 0010 w 0000000000001000\n", 62) == 0);
    for (uint32_t i = 0; i < 28; i++) {
        take_faults();
        CHECK_EQUAL(counted(), 33 + i);
    }
    CHECK_EQUAL(iommu_faults(0), 20);
    CHECK_EQUAL(iommu_faults(1), 20);
    CHECK_EQUAL(iommu_faults(2), 20);
    iommu_notice();
    CHECK_EQUAL(hosted_raised(0, VECTOR_IOMMU), 0);
    CHECK_EQUAL(hosted_iommu_reach(0, 4096, 0), NONE);
    CHECK_EQUAL(hosted_raised(0, VECTOR_IOMMU), 0);
    iommu_notice();
    CHECK_EQUAL(hosted_raised(0, VECTOR_IOMMU), 1);
    take_faults();
    CHECK_EQUAL(counted(), 61);
    console_drain();
    CHECK_EQUAL(hosted_serial_output(text, sizeof text), 0);
}

/* ---- through system calls ---- */

#define DMA_SLOT 4u
#define PLACE 0x100000ul /* where the devices see a page */
#define HERE 0x10000000ul
static uint32_t named;
static uint32_t unnamed;

static void program(uint32_t thread)
{
    (void)thread;
    CHECK_EQUAL(user_call(SYS_MEM_MAP, HERE, 2, READ_WRITE, 0, 0), STATUS_OK);
    named = hosted_reach(HERE, 1);
    unnamed = hosted_reach(HERE + 4096, 1);
    CHECK_EQUAL(page(named, 0, 0x20), NONE);
    CHECK_EQUAL(user_call(SYS_DMA_ADDRESS, DMA_SLOT, HERE, DMA_PHYSICAL, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_first(), (uint64_t)named * 4096);
    CHECK_EQUAL(page(named, 1, 0x20), named);
    CHECK_EQUAL(page(unnamed, 0, 0x20), NONE);
    CHECK_EQUAL(user_call(SYS_MEM_MAP, HERE + 8192, 1, PROT_READ, 0, 0), STATUS_OK);
    uint32_t fixed = hosted_reach(HERE + 8192, 0);
    CHECK_EQUAL(user_call(SYS_DMA_ADDRESS, DMA_SLOT, HERE + 8192, DMA_PHYSICAL, 0, 0), STATUS_OK);
    CHECK_EQUAL(page(fixed, 0, 0x20), fixed);
    CHECK_EQUAL(page(fixed, 1, 0x20), NONE);

    CHECK_EQUAL(user_call(SYS_DMA_ADDRESS, DMA_SLOT, HERE + 4096, PLACE, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_first(), PLACE);
    CHECK_EQUAL(hosted_iommu_reach(0x20, PLACE, 1), unnamed);
    CHECK_EQUAL(user_call(SYS_DMA_ADDRESS, DMA_SLOT, HERE, PLACE, 0, 0), ERR_ALREADY_MAPPED);
    CHECK_EQUAL(user_call(SYS_DMA_ADDRESS, DMA_SLOT, HERE, PLACE + 8, 0, 0), ERR_BAD_ARGUMENT);
    CHECK_EQUAL(user_call(SYS_DMA_ADDRESS, DMA_SLOT, HERE, IOMMU_ADDRESS_END, 0, 0), ERR_BAD_ARGUMENT);
    CHECK_EQUAL(user_call(SYS_DMA_ADDRESS, DMA_SLOT, HERE + 3 * 4096, PLACE + 4096, 0, 0), ERR_BAD_ADDRESS);
    CHECK_EQUAL(hosted_iommu_reach(0x20, PLACE, 1), unnamed);
    CHECK_EQUAL(hosted_iommu_reach(0x20, PLACE + 4096, 0), NONE);
    CHECK_EQUAL(invariants_check(), 0);
    world_stop();
    user_call(SYS_THREAD_EXIT, 0, 0, 0, 0, 0);
}

static void through_calls(void)
{
    world_start(1);
    hosted_iommu_set_levels(3);
    iommu_define(0x20, 0);
    world_process(0, NONE, 100, 0, 1, 0, 100, NONE);
    process_set_grant(0, DMA_SLOT, GRANT_DMA, 0, 0, 0);
    world_create(0);
    world_start_process(0);
    world_run(program);
    CHECK_EQUAL(process_state(0), PROCESS_EMPTY);
    CHECK_EQUAL(frame_owners(named), 0);
    CHECK_EQUAL(page(named, 0, 0x20), NONE);
    CHECK_EQUAL(invariants_check(), 0);
}

int main(void)
{
    test_random_start();
    without();
    edges(3);
    edges(4);
    places(3);
    places(4);
    quota(3);
    quota(4);
    random_operations(3);
    random_operations(4);
    faults();
    burst();
    pieces();
    through_calls();
    return TEST_END();
}
