/* Stop-machine: while one CPU has stopped the others, none of them makes progress; of two that want to stop the
 * others at once one waits; afterwards all run on. */
#include "arch.h"
#include "hosted.h"
#include "spinlock.h"
#include "stop.h"
#include "test.h"
#include "tlb.h"

#define CPUS 3u
#define LOOK 500u /* looks at the other CPUs' counters while they are stopped */

static uint64_t progress[NUM_CPU];
static uint64_t rounds;
static uint32_t inside; /* CPUs that have stopped the others */
static uint32_t left;   /* CPUs with rounds to do */

/* What a CPU does in between: kernel operations, interrupts at their ends. */
static void work(uint32_t cpu)
{
    uint32_t vector = arch_interrupt_poll();

    spinlock_kernel_enter();
    if (vector == VECTOR_RESCHEDULE) {
        stop_here();
    }
    __atomic_fetch_add(&progress[cpu], 1, __ATOMIC_SEQ_CST);
    spinlock_kernel_exit();
}

static void stop_and_look(uint32_t cpu)
{
    uint64_t before[NUM_CPU];

    CHECK_EQUAL(__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST), 1);
    CHECK_EQUAL(stop_check(), 0);
    for (uint32_t other = 0; other < CPUS; other++) {
        before[other] = __atomic_load_n(&progress[other], __ATOMIC_SEQ_CST);
    }
    for (uint32_t i = 0; i < LOOK; i++) {
        uint32_t other = (cpu + 1 + i % (CPUS - 1)) % CPUS;
        if (!CHECK_EQUAL(__atomic_load_n(&progress[other], __ATOMIC_SEQ_CST), before[other])) {
            break;
        }
    }
    __atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST);
}

static void body(uint32_t cpu)
{
    for (uint64_t done = 0; done < rounds;) {
        spinlock_kernel_enter();
        uint32_t stopped = stop_other_cpus();
        if (stopped == 1) {
            stop_and_look(cpu);
            stop_resume();
            done++;
        }
        spinlock_kernel_exit();
        work(cpu);
    }
    __atomic_fetch_sub(&left, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&left, __ATOMIC_SEQ_CST) != 0) {
        work(cpu);
    }
}

int main(void)
{
    hosted_reset(CPUS);
    tlb_init();
    rounds = test_operations(50);
    left = CPUS;
    hosted_run_cpus(CPUS, body);
    for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
        CHECK(progress[cpu] >= rounds);
    }
    CHECK_EQUAL(inside, 0);
    CHECK_EQUAL(stop_check(), 0);
    CHECK_EQUAL(arch_atomic_load(CELL_STOP_HELD), 0);
    arch_atomic_store(CELL_STOP_STATE, 3);
    CHECK_EQUAL(stop_check(), 1);
    arch_atomic_store(CELL_STOP_STATE, 0);
    arch_atomic_store(CELL_STOP_HELD, NUM_CPU);
    CHECK_EQUAL(stop_check(), 2);
    return TEST_END();
}
