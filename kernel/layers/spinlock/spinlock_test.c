/* Both lock algorithms on real CPUs: mutual exclusion, arrival order, all locks free in the end. */
#include "arch.h"
#include "hosted.h"
#include "spinlock.h"
#include "spinlock_parts.h"
#include "test.h"

#define NUM_TEST_CPU 4u
#define ROUNDS 1000u
#define LOCKS 3u

static uint32_t use_mcs;
static uint64_t counter[LOCKS]; /* not atomic: the locks guard them */
static uint64_t inside[LOCKS];

static void acquire(uint32_t lock)
{
    if (use_mcs) {
        spinlock_mcs_acquire(lock);
    } else {
        spinlock_ticket_acquire(lock);
    }
}

static void release(uint32_t lock)
{
    if (use_mcs) {
        spinlock_mcs_release(lock);
    } else {
        spinlock_ticket_release(lock);
    }
}

/* Nested in the order of ids, as the layers do. */
static void work(uint32_t cpu)
{
    uint64_t state = test_seed + cpu;

    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t upper = 1 + (uint32_t)(test_random_of(&state) % (LOCKS - 1));
        uint32_t lower = (uint32_t)(test_random_of(&state) % upper);
        acquire(LOCK_PAGEMAP_BASE + upper);
        acquire(LOCK_PAGEMAP_BASE + lower);
        CHECK_EQUAL(inside[upper], 0);
        CHECK_EQUAL(inside[lower], 0);
        inside[upper] = 1;
        inside[lower] = 1;
        counter[upper]++;
        counter[lower]++;
        inside[lower] = 0;
        inside[upper] = 0;
        release(LOCK_PAGEMAP_BASE + lower);
        release(LOCK_PAGEMAP_BASE + upper);
    }
}

/* CPU 0 holds the lock; the others queue one after the other and must be served in that order. */
static uint32_t queued;
static uint32_t served[NUM_TEST_CPU];
static uint32_t num_served;

static uint32_t drawn(void)
{
    return (uint32_t)arch_atomic_load(CELL_LOCK_BASE + 2 * LOCK_FRAME); /* next ticket, or tail */
}

static void in_order(uint32_t cpu)
{
    if (cpu == 0) {
        acquire(LOCK_FRAME);
        for (uint32_t next = 1; next < NUM_TEST_CPU; next++) {
            uint32_t before = drawn();
            __atomic_store_n(&queued, next, __ATOMIC_RELEASE);
            while (drawn() == before) {
                arch_spin_hint();
            }
        }
        release(LOCK_FRAME);
        return;
    }
    while (__atomic_load_n(&queued, __ATOMIC_ACQUIRE) < cpu) {
        arch_spin_hint();
    }
    acquire(LOCK_FRAME);
    served[num_served++] = cpu;
    release(LOCK_FRAME);
}

static void run(uint32_t mcs)
{
    uint64_t sum = 0;

    hosted_reset(NUM_TEST_CPU);
    use_mcs = mcs;
    queued = 0;
    num_served = 0;
    for (uint32_t i = 0; i < LOCKS; i++) {
        counter[i] = 0;
    }
    if (!mcs) { /* tickets wrap around in the middle of the test */
        for (uint32_t i = 0; i < LOCKS; i++) {
            arch_atomic_store(CELL_LOCK_BASE + 2 * (LOCK_PAGEMAP_BASE + i), 0ul - 300);
            arch_atomic_store(CELL_LOCK_BASE + 2 * (LOCK_PAGEMAP_BASE + i) + 1, 0ul - 300);
        }
    }
    hosted_run_cpus(NUM_TEST_CPU, work);
    for (uint32_t i = 0; i < LOCKS; i++) {
        sum += counter[i];
        CHECK(mcs ? spinlock_mcs_free(LOCK_PAGEMAP_BASE + i) : spinlock_ticket_free(LOCK_PAGEMAP_BASE + i));
    }
    CHECK_EQUAL(sum, 2 * ROUNDS * NUM_TEST_CPU);
    hosted_run_cpus(NUM_TEST_CPU, in_order);
    CHECK_EQUAL(num_served, NUM_TEST_CPU - 1);
    for (uint32_t i = 0; i < num_served; i++) {
        CHECK_EQUAL(served[i], i + 1);
    }
}

/* The build's lock: fine locks, or the kernel lock and empty fine ones. */
static uint64_t shared;

static void chosen(uint32_t cpu)
{
    (void)cpu;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        spinlock_kernel_enter();
        spinlock_acquire(LOCK_SHARE);
        shared++;
        spinlock_release(LOCK_SHARE);
        spinlock_kernel_exit();
    }
}

int main(void)
{
    test_random_start();
    run(0);
    run(1);
    hosted_reset(NUM_TEST_CPU);
    hosted_run_cpus(NUM_TEST_CPU, chosen);
    CHECK_EQUAL(shared, ROUNDS * NUM_TEST_CPU);
    CHECK_EQUAL(spinlock_check(), 0);
    return TEST_END();
}
