/* Page maps against a model: a list of pages. What the processor's walk finds must be what the model says. */
#include "abi.h"
#include "arch.h"
#include "container.h"
#include "frame.h"
#include "hosted.h"
#include "pagemap.h"
#include "test.h"

#define NUM_PAGE 400u
#define P 3u
#define QUOTA 700u

struct page {
    uint64_t vaddr;
    uint32_t mapped;
    uint32_t frame;
    uint32_t prot;
    uint32_t kind;
    uint32_t pinned;
};

static struct page pages[NUM_PAGE];

static void start(uint32_t quota)
{
    hosted_reset(1);
    container_init(10000);
    container_split(CONTAINER_ROOT, P, quota);
    frame_init();
    frame_make_usable(HOSTED_FIRST_FRAME, 2000);
    pagemap_init();
}

/* Addresses that share tables at every level, and some that share none. */
static void choose_addresses(void)
{
    static const uint64_t bases[] = {USER_BASE, 0x400000,      0x3fffe000,         0x7ffffff000,
                                     ENV_VADDR, MESSAGE_VADDR, USER_END - 0x40000, 0x123456789000};
    for (uint32_t i = 0; i < NUM_PAGE; i++) {
        pages[i] = (struct page){.vaddr = bases[i % 8] + (uint64_t)(i / 8) * 0x1000};
    }
}

static uint32_t wrong_address(void)
{
    static const uint64_t addresses[] = {
        0, 0xf000, USER_BASE + 8, USER_END, 0x800000000000, 0xffff800000000000, 0xfffffffffffff000};
    uint64_t vaddr = addresses[test_random(7)];

    CHECK_EQUAL(pagemap_missing(P, vaddr), 0);
    CHECK_EQUAL(pagemap_prepare(P, vaddr), ERR_BAD_ADDRESS);
    CHECK_EQUAL(pagemap_map(P, vaddr, 1, PROT_READ, PAGEMAP_IMAGE), ERR_BAD_ADDRESS);
    CHECK_EQUAL(pagemap_walk(P, vaddr), 0);
    CHECK_EQUAL(pagemap_unmap(P, vaddr), 0);
    CHECK_EQUAL(pagemap_frame(P, vaddr, PROT_READ), NONE);
    pagemap_pin(P, vaddr);
    return 0;
}

/* One table at most, and no page is found that was not. */
static void prepare(struct page *page)
{
    uint32_t before = container_usage(P);
    uint32_t missing = pagemap_missing(P, page->vaddr);
    uint32_t status = pagemap_prepare(P, page->vaddr);
    uint32_t made = status == STATUS_RESTART;

    CHECK(missing <= 3);
    CHECK_EQUAL(status, missing == 0 ? STATUS_OK : before == QUOTA ? ERR_QUOTA : STATUS_RESTART);
    CHECK_EQUAL(pagemap_missing(P, page->vaddr), missing - made);
    CHECK_EQUAL(container_usage(P), before + made);
    CHECK_EQUAL(pagemap_walk(P, page->vaddr) != 0, page->mapped);
}

static void map(struct page *page)
{
    uint32_t prot = PROT_READ | test_random(8);
    uint32_t kind = test_random(3);
    uint32_t frame = kind == PAGEMAP_OWNED ? frame_alloc(P) : 100 + test_random(50);
    uint32_t before = container_usage(P);
    uint32_t missing = pagemap_missing(P, page->vaddr);

    if (frame >= FRAME_NO_QUOTA) {
        return;
    }
    uint32_t status = pagemap_map(P, page->vaddr, frame, prot, kind);
    if ((prot & PROT_WRITE) && (prot & PROT_EXEC)) {
        CHECK_EQUAL(status, ERR_BAD_ARGUMENT);
    } else if (missing != 0) {
        CHECK_EQUAL(status, PAGEMAP_NO_TABLE);
    } else if (page->mapped) {
        CHECK_EQUAL(status, ERR_ALREADY_MAPPED);
    } else {
        CHECK_EQUAL(status, STATUS_OK);
        *page = (struct page){page->vaddr, 1, frame, prot, kind, 0};
    }
    CHECK_EQUAL(container_usage(P), before); /* it takes no frame */
    if (status != STATUS_OK && kind == PAGEMAP_OWNED) {
        frame_remove_owner(frame, P);
    }
}

static void unmap(struct page *page)
{
    uint64_t entry = pagemap_unmap(P, page->vaddr);

    CHECK_EQUAL(entry != 0, page->mapped);
    if (page->mapped) {
        CHECK_EQUAL((entry & ARCH_PTE_OWNED) != 0, page->kind == PAGEMAP_OWNED);
        if (page->kind == PAGEMAP_OWNED) {
            CHECK_EQUAL(frame_remove_owner(page->frame, P), STATUS_OK);
        }
        arch_tlb_invalidate_page(page->vaddr);
    }
    page->mapped = 0;
}

static void look(struct page *page)
{
    uint64_t entry = pagemap_walk(P, page->vaddr);
    uint32_t prot = test_random(8);
    uint32_t fits = page->mapped && page->kind == PAGEMAP_OWNED && !(prot & ~page->prot & (PROT_WRITE | PROT_EXEC));

    CHECK_EQUAL(pagemap_frame(P, page->vaddr, prot), fits ? page->frame : NONE);
    arch_tlb_invalidate_page(page->vaddr);
    CHECK_EQUAL(hosted_reach(page->vaddr, 0), page->mapped ? page->frame : NONE);
    CHECK_EQUAL(hosted_reach(page->vaddr, 1), page->mapped && (page->prot & PROT_WRITE) ? page->frame : NONE);
    if (page->mapped) {
        CHECK_EQUAL((entry & ARCH_PTE_NO_EXECUTE) == 0, (page->prot & PROT_EXEC) != 0);
        CHECK_EQUAL((entry & ARCH_PTE_UNCACHED) != 0, page->kind == PAGEMAP_DEVICE);
        CHECK_EQUAL((entry & ARCH_PTE_PINNED) != 0, page->pinned);
    } else {
        CHECK_EQUAL(entry, 0);
    }
}

static void destroy(void)
{
    uint32_t steps = 0;

    while (pagemap_destroy_step(P)) {
        steps++;
        if (steps % 257 == 0) {
            CHECK_EQUAL(pagemap_check(), 0);
        }
        if (!CHECK(steps < 100000)) {
            return;
        }
    }
    CHECK_EQUAL(container_usage(P), 0);
    CHECK_EQUAL(frame_free_count(), 2000);
    CHECK_EQUAL(pagemap_destroy_step(P), 0);
    CHECK_EQUAL(pagemap_root_of(P), NONE);
}

static void against_model(void)
{
    uint64_t operations = test_operations(20000);

    start(QUOTA);
    choose_addresses();
    CHECK_EQUAL(pagemap_create(P), STATUS_OK);
    CHECK_EQUAL(pagemap_create(P), ERR_BAD_STATE);
    CHECK_EQUAL(pagemap_root_of(P + 1), NONE);
    pagemap_load(pagemap_root_of(P));
    CHECK_EQUAL(arch_loaded_root_of(0), pagemap_root_of(P));
    for (uint64_t i = 0; i < operations; i++) {
        struct page *page = &pages[test_random(NUM_PAGE)];
        switch (test_random(9)) {
        case 0:
        case 1:
        case 2:
            map(page);
            break;
        case 3:
        case 4:
            unmap(page);
            break;
        case 5:
            pagemap_pin(P, page->vaddr);
            page->pinned = page->mapped;
            break;
        case 6:
            wrong_address();
            break;
        case 7:
            prepare(page);
            break;
        }
        look(&pages[test_random(NUM_PAGE)]);
        if (i % 50 == 0 && !CHECK_EQUAL(pagemap_check(), 0)) {
            break;
        }
    }
    pagemap_load_kernel();
    CHECK_EQUAL(arch_loaded_root_of(0), NONE);
    destroy();
    CHECK_EQUAL(frame_check(), 0);
    CHECK_EQUAL(container_merge(P), STATUS_OK);
}

/* With every small quota: creation works or leaves nothing behind; tables are made one by one as far as the quota goes,
 * and a far page is mapped when it has all of them. */
static void small_quotas(void)
{
    for (uint32_t quota = 0; quota < 6; quota++) {
        start(quota);
        uint32_t created = pagemap_create(P);
        CHECK_EQUAL(created, quota == 0 ? ERR_QUOTA : STATUS_OK);
        uint32_t steps = 0;
        uint32_t status = STATUS_RESTART;
        while (status == STATUS_RESTART) {
            CHECK_EQUAL(pagemap_missing(P, 0x5000000000), quota == 0 ? 0 : 3 - steps);
            status = pagemap_prepare(P, 0x5000000000);
            steps++;
        }
        CHECK_EQUAL(status, quota == 0 ? ERR_BAD_STATE : quota < 4 ? ERR_QUOTA : STATUS_OK);
        CHECK_EQUAL(container_usage(P), quota < 4 ? quota : 4);
        status = pagemap_map(P, 0x5000000000, 7, PROT_READ, PAGEMAP_IMAGE);
        CHECK_EQUAL(status, quota == 0 ? ERR_BAD_STATE : quota < 4 ? PAGEMAP_NO_TABLE : STATUS_OK);
        CHECK_EQUAL(pagemap_check(), 0);
        CHECK_EQUAL(frame_check(), 0);
        if (created == STATUS_OK) {
            destroy();
        }
    }
}

int main(void)
{
    test_random_start();
    against_model();
    small_quotas();
    return TEST_END();
}
