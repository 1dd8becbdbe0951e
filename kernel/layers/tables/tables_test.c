/* Trees of tables against a flat model, of both kinds and of three and four levels: what a leaf is, what each call costs,
 * that a step of freeing frees at most one table, and that in the end none is left. */
#include "tables.h"

#include "abi.h"
#include "arch.h"
#include "container.h"
#include "frame.h"
#include "hosted.h"
#include "test.h"

#define P 5u
#define QUOTA 3000u
#define PAGES 200u

static uint64_t address[PAGES];
static uint64_t model[PAGES];
static uint32_t root;

/* Neighbours, and addresses that share no table, up to the tree's end if `ends` is 1. */
static void choose(uint32_t levels, uint32_t ends)
{
    uint64_t end = 1ul << (12 + 9 * levels);
    for (uint32_t i = 0; i < PAGES; i++) {
        uint64_t any = ((uint64_t)test_random(1u << 31) << 17 | test_random(1u << 17)) << 12;
        address[i] = any % (end - 0x100000);
        if (i < 20) {
            address[i] = 0x1000ul * i;
        } else if (i < 30 && ends) {
            address[i] = end - 0x1000ul * (i - 19);
        } else if (i >= 30 && i < 34) { /* the last page of a table of each level, behind which others come */
            address[i] = (1ul << (12 + 9 * (i - 30))) - 0x1000;
        }
        model[i] = 0;
        for (uint32_t k = 0; k < i; k++) {
            if (address[k] == address[i]) {
                address[i] = address[i] ^ 0x40000000ul;
                k = (uint32_t)-1;
            }
        }
    }
}

static uint64_t leaf(uint32_t kind, uint32_t frame)
{
    return kind == TABLES_DEVICE ? arch_iommu_leaf(frame, PROT_READ) : arch_nested_entry(frame, PROT_READ);
}

static void start(uint32_t levels)
{
    hosted_reset(1);
    hosted_iommu_set_levels(levels);
    container_init(30000);
    frame_init();
    frame_make_usable(HOSTED_FIRST_FRAME, 20000);
    CHECK_EQUAL(container_split(CONTAINER_ROOT, P, QUOTA), STATUS_OK);
    root = tables_new(P);
    CHECK(root < NUM_FRAME);
}

/* Adds what is missing for an address: each call adds one table. */
static void grow(uint32_t kind, uint32_t levels, uint64_t at)
{
    uint32_t missing = tables_missing(kind, root, levels, at);
    CHECK(missing < levels);
    while (missing > 0) {
        uint32_t used = container_usage(P);
        tables_link(kind, root, levels, at, tables_new(P));
        CHECK_EQUAL(container_usage(P), used + 1);
        CHECK_EQUAL(tables_missing(kind, root, levels, at), missing - 1);
        missing--;
    }
}

static void drop(uint32_t kind, uint32_t levels)
{
    uint64_t cursor = 0;
    uint64_t steps = 0;
    while (cursor != TABLES_GONE && steps < 1000000) {
        uint32_t used = container_usage(P);
        uint64_t next = tables_drop(kind, P, root, levels, cursor);
        CHECK(container_usage(P) == used || container_usage(P) == used - 1);
        CHECK(next > cursor || container_usage(P) == used - 1); /* it comes to an end */
        cursor = next;
        steps++;
    }
    CHECK_EQUAL(container_usage(P), 0);
    CHECK_EQUAL(frame_check(), 0);
}

static void random_operations(uint32_t kind, uint32_t levels)
{
    start(levels);
    choose(levels, kind == TABLES_DEVICE);
    for (uint64_t i = test_operations(3000); i > 0; i--) {
        uint32_t page = test_random(PAGES);
        if (test_random(4) == 0) {
            if (tables_missing(kind, root, levels, address[page]) == 0) {
                tables_store(kind, root, levels, address[page], 0);
            }
            model[page] = 0;
        } else {
            grow(kind, levels, address[page]);
            model[page] = leaf(kind, 1 + test_random(1000));
            tables_store(kind, root, levels, address[page], model[page]);
        }
        page = test_random(PAGES);
        CHECK_EQUAL(tables_leaf(kind, root, levels, address[page]), model[page]);
    }
    drop(kind, levels);
}

/* Nothing is made where there is no room, and an empty tree is freed. */
static void room(void)
{
    start(4);
    CHECK_EQUAL(tables_room(P, QUOTA - 1), STATUS_OK);
    CHECK_EQUAL(tables_room(P, QUOTA), ERR_QUOTA);
    CHECK_EQUAL(tables_error(FRAME_NO_QUOTA), ERR_QUOTA);
    CHECK_EQUAL(tables_error(NONE), ERR_NO_MEMORY);
    drop(TABLES_GUEST, 4);
    container_init(30000);
    CHECK_EQUAL(container_split(CONTAINER_ROOT, P, 25000), STATUS_OK);
    CHECK_EQUAL(tables_room(P, 20001), ERR_NO_MEMORY);
}

int main(void)
{
    test_random_start();
    for (uint32_t levels = 3; levels <= 4; levels++) {
        random_operations(TABLES_DEVICE, levels);
        random_operations(TABLES_GUEST, levels);
    }
    room();
    return TEST_END();
}
