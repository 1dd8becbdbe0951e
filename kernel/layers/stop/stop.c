#include "stop.h"

#include "arch.h"
#include "intc.h"
#include "spinlock.h"
#include "tlb.h"

#define STOP_NONE 0u
#define STOP_STOPPED 1u /* a CPU stops the others */
/* The others leave; until all have left no CPU may stop them again, or it and the CPU that waits for them to leave
 * would wait for each other. */
#define STOP_RESUMING 2u

#if DEBUG

uint32_t stop_other_cpus(void)
{
    uint64_t stopping = arch_atomic_cas(CELL_STOP_STATE, STOP_NONE, STOP_STOPPED);
    if (stopping != STOP_NONE) {
        return 0u;
    }
#ifndef LOCK_BIG
    /* With one big lock the others wait outside the kernel by themselves. */
    uint32_t here = arch_cpu();
    uint32_t count = arch_cpu_count();
    for (uint32_t cpu = 0u; cpu < count; cpu = cpu + 1u) {
        if (cpu != here) {
            intc_send(cpu, VECTOR_RESCHEDULE);
        }
    }
    uint64_t held = arch_atomic_load(CELL_STOP_HELD);
    while (held != (uint64_t)count - 1ul) {
        /* A CPU that waits for this one to drop a translation cannot stop before it has its answer. */
        tlb_service();
        arch_spin_hint();
        held = arch_atomic_load(CELL_STOP_HELD);
    }
#endif
    return 1u;
}

void stop_resume(void)
{
    arch_atomic_store(CELL_STOP_STATE, STOP_RESUMING);
    uint64_t held = arch_atomic_load(CELL_STOP_HELD);
    while (held != 0u) {
        arch_spin_hint();
        held = arch_atomic_load(CELL_STOP_HELD);
    }
    arch_atomic_store(CELL_STOP_STATE, STOP_NONE);
}

void stop_here(void)
{
    uint64_t stopping = arch_atomic_load(CELL_STOP_STATE);
    if (stopping == STOP_STOPPED) {
        arch_atomic_fetch_add(CELL_STOP_HELD, 1u);
        while (stopping == STOP_STOPPED) {
            /* A CPU that waits for this one to drop a translation cannot stop before it has its answer. */
            tlb_service();
            arch_spin_hint();
            stopping = arch_atomic_load(CELL_STOP_STATE);
        }
        arch_atomic_fetch_add(CELL_STOP_HELD, 0xfffffffffffffffful);
    }
}

#else

uint32_t stop_other_cpus(void)
{
    return 1u;
}

void stop_resume(void)
{
}

void stop_here(void)
{
}

#endif

uint32_t stop_check(void)
{
    uint64_t stopping = arch_atomic_load(CELL_STOP_STATE);
    uint64_t held = arch_atomic_load(CELL_STOP_HELD);
    if (stopping > STOP_RESUMING) {
        return 1u;
    }
    if (held >= NUM_CPU) {
        return 2u;
    }
    return 0u;
}
