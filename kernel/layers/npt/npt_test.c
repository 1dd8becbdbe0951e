/* npt against a flat model (an array of mappings), and its accounting: the frames charged for a map, and that all are
 * freed, also when memory or quota runs out half-way. */
#include "npt.h"

#include "abi.h"
#include "arch.h"
#include "container.h"
#include "frame.h"
#include "guest.h"
#include "hosted.h"
#include "test.h"

#define VM 2u
#define MONITOR 5u
#define QUOTA 4000u
#define RWX (PROT_READ | PROT_WRITE | PROT_EXEC)

static void start(uint32_t quota)
{
    hosted_reset(2);
    container_init(30000);
    frame_init();
    frame_make_usable(HOSTED_FIRST_FRAME, 20000);
    CHECK_EQUAL(container_split(CONTAINER_ROOT, MONITOR, quota), STATUS_OK);
    /* The layer's state outlives hosted_reset; a test leaves no map behind. */
    CHECK_EQUAL(npt_root(VM), NONE);
}

/* Tables are made one a call. */
static uint32_t map(uint32_t vm, uint64_t gpa, uint32_t frame, uint32_t prot)
{
    uint32_t status = STATUS_RESTART;
    for (uint32_t i = 0; i < 4 && status == STATUS_RESTART; i++) {
        uint32_t missing = npt_missing(vm, gpa);
        status = missing > 0 ? npt_prepare(vm, gpa, MONITOR, missing) : npt_map(vm, gpa, frame, prot);
    }
    return status;
}

static void destroy(void)
{
    uint32_t steps = 0;
    while (npt_destroy_step(VM) && steps < 100000) {
        steps++;
    }
    CHECK_EQUAL(npt_root(VM), NONE);
    CHECK_EQUAL(npt_check(), 0);
}

static void test_errors(void)
{
    start(QUOTA);
    uint32_t page = frame_alloc(MONITOR);
    CHECK_EQUAL(map(VM, 0, page, RWX), ERR_BAD_STATE);
    CHECK_EQUAL(npt_unmap(VM, 0), ERR_BAD_STATE);
    CHECK_EQUAL(npt_destroy_step(VM), 0);
    CHECK_EQUAL(npt_process(VM), NONE);
    CHECK_EQUAL(npt_create(VM, MONITOR), STATUS_OK);
    CHECK_EQUAL(npt_create(VM, MONITOR), ERR_BAD_STATE);
    CHECK_EQUAL(npt_process(VM), MONITOR);
    CHECK_EQUAL(map(VM, 1, page, RWX), ERR_BAD_ADDRESS);
    CHECK_EQUAL(map(VM, NPT_ADDRESS_END, page, RWX), ERR_BAD_ADDRESS);
    CHECK_EQUAL(npt_map(VM, 0, page, PROT_WRITE), ERR_BAD_ARGUMENT);
    CHECK_EQUAL(npt_map(VM, 0, page, 8u | PROT_READ), ERR_BAD_ARGUMENT);
    CHECK_EQUAL(npt_unmap(VM, 0), ERR_BAD_ADDRESS);
    CHECK_EQUAL(container_usage(MONITOR), 2); /* the page and the root */
    CHECK_EQUAL(map(VM, NPT_ADDRESS_END - 4096, page, RWX), STATUS_OK);
    CHECK_EQUAL(container_usage(MONITOR), 5);
    CHECK_EQUAL(map(VM, NPT_ADDRESS_END - 4096, page, PROT_READ), ERR_ALREADY_MAPPED);
    CHECK_EQUAL(map(VM, NPT_ADDRESS_END - 8192, page, PROT_READ), STATUS_OK);
    CHECK_EQUAL(container_usage(MONITOR), 5); /* the tables serve both */
    CHECK_EQUAL(npt_walk(VM, NPT_ADDRESS_END - 8192), page);
    CHECK_EQUAL(npt_unmap(VM, NPT_ADDRESS_END - 12288), ERR_BAD_ADDRESS);
    CHECK_EQUAL(npt_check(), 0);
    destroy();
    CHECK_EQUAL(container_usage(MONITOR), 1);
}

/* The permission bits of entries. */
static void test_protection(void)
{
    start(QUOTA);
    uint32_t page = frame_alloc(MONITOR);
    CHECK_EQUAL(npt_create(VM, MONITOR), STATUS_OK);
    for (uint32_t prot = PROT_READ; prot <= RWX; prot += 2) {
        CHECK_EQUAL(map(VM, 0x1000ul * prot, page, prot), STATUS_OK);
        uint32_t table = npt_root(VM);
        for (uint32_t level = 3; level > 0; level--) {
            table = arch_nested_frame(arch_frame_read(table, 0));
        }
        uint64_t leaf = arch_frame_read(table, prot);
        CHECK_EQUAL(leaf, arch_nested_entry(page, prot));
        CHECK_EQUAL((leaf & ARCH_PTE_WRITE) != 0, (prot & PROT_WRITE) != 0);
        CHECK_EQUAL((leaf & ARCH_PTE_NO_EXECUTE) == 0, (prot & PROT_EXEC) != 0);
    }
    destroy();
}

/* A guest that lost a page must lose its translations. */
static void test_flush(void)
{
    start(QUOTA);
    uint32_t page = frame_alloc(MONITOR);
    arch_vcpu_init(VM);
    CHECK_EQUAL(npt_create(VM, MONITOR), STATUS_OK);
    CHECK_EQUAL(map(VM, 0, page, RWX), STATUS_OK);
    CHECK_EQUAL(hosted_guest(VM)->flushes, 0); /* no translation could be cached */
    CHECK_EQUAL(npt_unmap(VM, 0x1000), ERR_BAD_ADDRESS);
    CHECK_EQUAL(hosted_guest(VM)->flushes, 0);
    CHECK_EQUAL(npt_unmap(VM, 0), STATUS_OK);
    CHECK_EQUAL(hosted_guest(VM)->flushes, 1);
    CHECK_EQUAL(npt_walk(VM, 0), NONE);
    CHECK_EQUAL(map(VM, 0, page, RWX), STATUS_OK);
    destroy();
    CHECK(hosted_guest(VM)->flushes > 1);
}

/* With every quota from none to enough: a refused call changes nothing, and no frame is lost. */
static void test_quota(void)
{
    for (uint32_t quota = 1; quota < 12; quota++) {
        start(quota);
        uint32_t page = frame_alloc(MONITOR);
        if (npt_create(VM, MONITOR) != STATUS_OK) {
            CHECK_EQUAL(quota, 1);
            CHECK_EQUAL(container_usage(MONITOR), 1);
            continue;
        }
        for (uint64_t i = 0; i < 4; i++) {
            uint64_t gpa = i << 39; /* a path of tables of its own */
            uint32_t before = container_usage(MONITOR);
            uint32_t status = map(VM, gpa, page, RWX);
            CHECK_EQUAL(status, before + 3 <= quota ? STATUS_OK : ERR_QUOTA);
            CHECK_EQUAL(container_usage(MONITOR), status == STATUS_OK ? before + 3 : before);
            CHECK_EQUAL(npt_walk(VM, gpa), status == STATUS_OK ? page : NONE);
        }
        CHECK_EQUAL(npt_check(), 0);
        CHECK_EQUAL(frame_check(), 0);
        destroy();
        CHECK_EQUAL(container_usage(MONITOR), 1);
    }
}

static void test_no_memory(void)
{
    start(QUOTA);
    uint32_t page = frame_alloc(MONITOR);
    CHECK_EQUAL(npt_create(VM, MONITOR), STATUS_OK);
    CHECK_EQUAL(container_split(CONTAINER_ROOT, MONITOR + 1, 20000), STATUS_OK);
    while (frame_free_count() > 2 && frame_alloc(MONITOR + 1) < NUM_FRAME) {
    }
    CHECK_EQUAL(frame_free_count(), 2);
    uint32_t used = container_usage(MONITOR);
    CHECK(used + 3 <= QUOTA);
    CHECK_EQUAL(map(VM, 0, page, RWX), ERR_NO_MEMORY);
    CHECK_EQUAL(frame_free_count(), 2);
    CHECK_EQUAL(container_usage(MONITOR), used);
    destroy();
}

/* Random maps and unmaps in three far places, against the model. */
#define PLACES 3u
#define PAGES 700u
static void test_model(void)
{
    static uint32_t model[PLACES][PAGES];
    static const uint64_t base[PLACES] = {0, (1ul << 30) - 300 * 4096, (5ul << 39) - 4096 * 350};
    uint32_t page[8];
    uint64_t operations = test_operations(200000);
    start(QUOTA);
    for (uint32_t i = 0; i < 8; i++) {
        page[i] = frame_alloc(MONITOR);
    }
    for (uint32_t i = 0; i < PLACES * PAGES; i++) {
        model[i / PAGES][i % PAGES] = NONE;
    }
    CHECK_EQUAL(npt_create(VM, MONITOR), STATUS_OK);
    for (uint64_t i = 0; i < operations; i++) {
        uint32_t place = test_random(PLACES);
        uint32_t at = test_random(PAGES);
        uint64_t gpa = base[place] + 4096ul * at;
        uint32_t *known = &model[place][at];
        if (test_random(2) == 0) {
            uint32_t frame = page[test_random(8)];
            CHECK_EQUAL(map(VM, gpa, frame, PROT_READ), *known == NONE ? STATUS_OK : ERR_ALREADY_MAPPED);
            *known = *known == NONE ? frame : *known;
        } else {
            CHECK_EQUAL(npt_unmap(VM, gpa), *known == NONE ? ERR_BAD_ADDRESS : STATUS_OK);
            *known = NONE;
        }
        CHECK_EQUAL(npt_walk(VM, gpa), *known);
    }
    for (uint32_t i = 0; i < PLACES * PAGES; i++) {
        CHECK_EQUAL(npt_walk(VM, base[i / PAGES] + 4096ul * (i % PAGES)), model[i / PAGES][i % PAGES]);
    }
    CHECK_EQUAL(npt_check(), 0);
    destroy();
    CHECK_EQUAL(container_usage(MONITOR), 8);
    CHECK_EQUAL(frame_check(), 0);
}

/* The invariant walk finds a frame that the monitor no longer owns. */
static void test_check_finds(void)
{
    start(QUOTA);
    uint32_t page = frame_alloc(MONITOR);
    CHECK_EQUAL(npt_create(VM, MONITOR), STATUS_OK);
    CHECK_EQUAL(map(VM, 0x5000, page, RWX), STATUS_OK);
    CHECK_EQUAL(npt_check(), 0);
    frame_remove_owner(page, MONITOR);
    CHECK_EQUAL(npt_check(), 3);
    CHECK_EQUAL(npt_unmap(VM, 0x5000), STATUS_OK);
    destroy();
}

/* Two threads of one monitor map and unmap at once; each place belongs to one of them. */
static void map_and_unmap(uint32_t cpu)
{
    uint32_t page = frame_alloc(MONITOR);
    for (uint32_t i = 0; i < 3000; i++) {
        uint64_t gpa = ((uint64_t)(i % 40) << 30) + 4096ul * cpu;
        CHECK_EQUAL(map(VM, gpa, page, RWX), STATUS_OK);
        CHECK_EQUAL(npt_walk(VM, gpa), page);
        CHECK_EQUAL(npt_unmap(VM, gpa), STATUS_OK);
    }
}

static void test_two_cpus(void)
{
    start(QUOTA);
    CHECK_EQUAL(npt_create(VM, MONITOR), STATUS_OK);
    hosted_run_cpus(2, map_and_unmap);
    CHECK_EQUAL(npt_check(), 0);
    destroy();
    CHECK_EQUAL(container_usage(MONITOR), 2);
    CHECK_EQUAL(frame_check(), 0);
}

int main(void)
{
    test_random_start();
    test_errors();
    test_protection();
    test_flush();
    test_quota();
    test_no_memory();
    test_model();
    test_check_finds();
    test_two_cpus();
    return TEST_END();
}
