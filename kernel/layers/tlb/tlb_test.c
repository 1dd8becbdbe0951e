/* Shoot-down on real CPUs whose TLBs drop nothing by themselves: after it no CPU reaches the frame any
 * more. */
#include "abi.h"
#include "arch.h"
#include "container.h"
#include "frame.h"
#include "hosted.h"
#include "pagemap.h"
#include "spinlock.h"
#include "test.h"
#include "tlb.h"

#define NUM_TEST_CPU 4u
#define ROUNDS 40u
#define P 1u
#define SHARED 0x400000ul
#define OWN 0x500000ul

static uint32_t expected;     /* frame at SHARED in this round, or NONE */
static uint32_t round_number; /* readers follow it */
static uint32_t arrived;
static uint32_t stop;

static void serve(void)
{
    if (arch_interrupt_poll() == VECTOR_TLB) {
        spinlock_kernel_enter();
        tlb_service();
        spinlock_kernel_exit();
    }
}

/* All CPUs but 0 use the page in each round, so that each of them caches its translation. */
static void reader(void)
{
    uint32_t seen = 0;

    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        uint32_t now = __atomic_load_n(&round_number, __ATOMIC_ACQUIRE);
        if (now != seen) {
            seen = now;
            CHECK_EQUAL(hosted_reach(SHARED, 0), __atomic_load_n(&expected, __ATOMIC_RELAXED));
            __atomic_fetch_add(&arrived, 1, __ATOMIC_RELEASE);
        }
        serve();
        arch_spin_hint();
    }
}

/* What unmapping a page does, in one go. */
static void invalidate(uint32_t p, uint64_t vaddr)
{
    uint64_t others = tlb_others(p);
    arch_tlb_invalidate_page(vaddr);
    for (uint32_t cpu = 0; cpu < NUM_CPU; cpu++) {
        if ((others >> cpu & 1) != 0) {
            tlb_ask(cpu);
        }
    }
    for (uint32_t cpu = 0; cpu < NUM_CPU; cpu++) {
        if ((others >> cpu & 1) != 0) {
            tlb_await_asked(cpu);
        }
    }
}

static void next_round(uint32_t frame)
{
    __atomic_store_n(&expected, frame, __ATOMIC_RELAXED);
    __atomic_store_n(&arrived, 0, __ATOMIC_RELAXED);
    __atomic_fetch_add(&round_number, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < NUM_TEST_CPU - 1) {
        serve();
        arch_spin_hint();
    }
}

static void writer(void)
{
    for (uint32_t i = 0; i < ROUNDS; i++) {
        spinlock_kernel_enter();
        uint32_t frame = frame_alloc(P);
        CHECK_EQUAL(pagemap_map(P, SHARED, frame, PROT_READ, PAGEMAP_OWNED), STATUS_OK);
        spinlock_kernel_exit();
        next_round(frame);
        spinlock_kernel_enter();
        CHECK(pagemap_unmap(P, SHARED) != 0);
        invalidate(P, SHARED);
        frame_remove_owner(frame, P);
        spinlock_kernel_exit();
        next_round(NONE);
        /* They have cached the absence of the page, which a processor would not. */
        spinlock_kernel_enter();
        invalidate(P, SHARED);
        spinlock_kernel_exit();
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
}

static void one_writes(uint32_t cpu)
{
    pagemap_load(pagemap_root_of(P));
    if (cpu == 0) {
        writer();
    } else {
        reader();
    }
}

/* All CPUs invalidate at once: each answers the others while it waits, so there is no deadlock. */
static uint32_t finished;

static void all_write(uint32_t cpu)
{
    uint64_t vaddr = OWN + cpu * 0x1000ul;

    pagemap_load(pagemap_root_of(P));
    for (uint32_t i = 0; i < ROUNDS; i++) {
        spinlock_kernel_enter();
        uint32_t frame = frame_alloc(P);
        CHECK_EQUAL(pagemap_map(P, vaddr, frame, PROT_READ | PROT_WRITE, PAGEMAP_OWNED), STATUS_OK);
        spinlock_kernel_exit();
        CHECK_EQUAL(hosted_reach(vaddr, 1), frame);
        spinlock_kernel_enter();
        pagemap_unmap(P, vaddr);
        invalidate(P, vaddr);
        frame_remove_owner(frame, P);
        spinlock_kernel_exit();
        CHECK_EQUAL(hosted_reach(vaddr, 0), NONE);
        arch_tlb_invalidate_page(vaddr);
    }
    __atomic_fetch_add(&finished, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&finished, __ATOMIC_ACQUIRE) < NUM_TEST_CPU) {
        serve();
        arch_spin_hint();
    }
}

static void start(uint32_t cpus)
{
    hosted_reset(cpus);
    container_init(1000);
    container_split(CONTAINER_ROOT, P, 100);
    frame_init();
    frame_make_usable(HOSTED_FIRST_FRAME, 200);
    pagemap_init();
    tlb_init();
    tlb_set_cpus(P, (1u << cpus) - 1);
    CHECK_EQUAL(pagemap_create(P), STATUS_OK);
    while (pagemap_prepare(P, SHARED) == STATUS_RESTART || pagemap_prepare(P, OWN) == STATUS_RESTART) {
    }
}

/* A CPU alone drops its own translation. */
static void one_cpu(void)
{
    start(1);
    pagemap_load(pagemap_root_of(P));
    uint32_t frame = frame_alloc(P);
    CHECK_EQUAL(pagemap_map(P, OWN, frame, PROT_READ, PAGEMAP_OWNED), STATUS_OK);
    CHECK_EQUAL(hosted_reach(OWN, 0), frame);
    pagemap_unmap(P, OWN);
    CHECK_EQUAL(hosted_reach(OWN, 0), frame); /* still held */
    invalidate(P, OWN);
    CHECK_EQUAL(hosted_reach(OWN, 0), NONE);
}

int main(void)
{
    start(NUM_TEST_CPU);
    hosted_run_cpus(NUM_TEST_CPU, one_writes);
    CHECK_EQUAL(tlb_check(), 0);
    hosted_run_cpus(NUM_TEST_CPU, all_write);
    CHECK_EQUAL(tlb_check(), 0);
    CHECK_EQUAL(pagemap_check(), 0);
    CHECK_EQUAL(frame_check(), 0);
    /* CPUs that never run the process are not disturbed. */
    tlb_set_cpus(P, 1);
    hosted_lower(1, VECTOR_TLB);
    invalidate(P, OWN);
    CHECK_EQUAL(hosted_raised(1, VECTOR_TLB), 0);
    one_cpu();
    return TEST_END();
}
