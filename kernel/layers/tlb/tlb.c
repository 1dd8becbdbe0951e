/* Translation shoot-down by tickets. A CPU that asks another draws a ticket from that one's first cell; its second cell
 * holds the last ticket that it has served, by dropping all translations of user addresses. So serving takes the same
 * time however many ask, and no lock is needed. */
#include "tlb.h"

#include "arch.h"
#include "intc.h"
#include "spinlock.h"
#include "tlb_parts.h"

/* Bit c: CPU c may hold translations of the process. Constant after start-up. */
static uint64_t tlb_cpus[NUM_PROCESS];

static uint32_t tlb_asked(uint32_t cpu)
{
    return CELL_TLB_BASE + cpu;
}

static uint32_t tlb_served(uint32_t cpu)
{
    return CELL_TLB_BASE + NUM_CPU + cpu;
}

void tlb_init(void)
{
    for (uint32_t p = 0u; p < NUM_PROCESS; p = p + 1u) {
        tlb_cpus[p] = 0ul;
    }
    for (uint32_t i = 0u; i < 2u * NUM_CPU; i = i + 1u) {
        arch_atomic_store(CELL_TLB_BASE + i, 0ul);
    }
}

void tlb_set_cpus(uint32_t p, uint64_t cpu_mask)
{
    tlb_cpus[p] = cpu_mask;
}

void tlb_service(void)
{
    uint32_t cpu = arch_cpu();
    uint32_t asked_cell = tlb_asked(cpu);
    uint32_t served_cell = tlb_served(cpu);
    uint64_t asked = arch_atomic_load(asked_cell);
    uint64_t served = arch_atomic_load(served_cell);
    if (asked != served) {
        /* Tickets up to `asked` were drawn before this, and their pages unmapped before that. */
        arch_tlb_invalidate_user();
        arch_atomic_store(served_cell, asked);
    }
}

void tlb_await(uint32_t cpu, uint64_t ticket)
{
    uint32_t cell = tlb_served(cpu);
    uint64_t served = arch_atomic_load(cell);
    while (served < ticket) {
        tlb_service();
        arch_spin_hint();
        served = arch_atomic_load(cell);
    }
}

uint64_t tlb_others(uint32_t p)
{
    uint32_t cpu = arch_cpu();
    return tlb_cpus[p] & ~(1ul << cpu);
}

void tlb_ask(uint32_t cpu)
{
    uint32_t cell = tlb_asked(cpu);
    arch_atomic_fetch_add(cell, 1ul);
    intc_send(cpu, VECTOR_TLB);
}

void tlb_await_asked(uint32_t cpu)
{
    uint32_t cell = tlb_asked(cpu);
    uint64_t asked = arch_atomic_load(cell);
    /* A CPU that waits for the kernel lock takes no interrupt, so the lock is released while waiting. */
    spinlock_kernel_exit();
    tlb_await(cpu, asked);
    spinlock_kernel_enter();
}

/* With LOCK_BIG a CPU waits for its answer outside the kernel lock, so tickets may be outstanding during the walk. */
uint32_t tlb_check(void)
{
    for (uint32_t cpu = 0u; cpu < NUM_CPU; cpu = cpu + 1u) {
        uint32_t asked_cell = tlb_asked(cpu);
        uint32_t served_cell = tlb_served(cpu);
        uint64_t served = arch_atomic_load(served_cell);
        uint64_t asked = arch_atomic_load(asked_cell);
        if (served > asked) {
            return 1u;
        }
#if !defined(LOCK_BIG)
        if (served != asked) {
            return 2u;
        }
#endif
    }
    return 0u;
}
