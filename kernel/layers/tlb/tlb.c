/* Translation shoot-down. A request cell holds the page's address plus 1, or 0 when it is served. Each CPU has at most
 * one request per target, because it waits for the answer; so the cells need no lock. */
#include "tlb.h"

#include "arch.h"
#include "intc.h"
#include "spinlock.h"
#include "tlb_parts.h"

static uint32_t tlb_cpus[NUM_PROCESS]; /* constant after start-up */

/* The cell by which CPU `from` asks CPU `to`. */
static uint32_t tlb_cell(uint32_t from, uint32_t to)
{
    return CELL_TLB_BASE + from * NUM_CPU + to;
}

void tlb_init(void)
{
    for (uint32_t p = 0u; p < NUM_PROCESS; p = p + 1u) {
        tlb_cpus[p] = 0u;
    }
    for (uint32_t i = 0u; i < NUM_CPU * NUM_CPU; i = i + 1u) {
        arch_atomic_store(CELL_TLB_BASE + i, 0ul);
    }
}

void tlb_set_cpus(uint32_t p, uint32_t cpu_mask)
{
    tlb_cpus[p] = cpu_mask;
}

void tlb_service(void)
{
    uint32_t cpu = arch_cpu();
    uint32_t count = arch_cpu_count();
    for (uint32_t from = 0u; from < NUM_CPU && from < count; from = from + 1u) {
        uint32_t cell = tlb_cell(from, cpu);
        uint64_t request = arch_atomic_load(cell);
        if (request != 0ul) {
            arch_tlb_invalidate_page(request - 1ul);
            arch_atomic_store(cell, 0ul);
        }
    }
}

/* Asks CPU `to` to drop its translation of vaddr. */
static void tlb_ask(uint32_t cpu, uint32_t to, uint64_t vaddr)
{
    uint32_t cell = tlb_cell(cpu, to);
    arch_atomic_store(cell, vaddr + 1ul);
    intc_send(to, VECTOR_TLB);
}

void tlb_await(uint32_t cpu, uint32_t to)
{
    uint32_t cell = tlb_cell(cpu, to);
    uint64_t request = arch_atomic_load(cell);
    while (request != 0ul) {
        tlb_service();
        arch_spin_hint();
        request = arch_atomic_load(cell);
    }
}

void tlb_invalidate(uint32_t p, uint64_t vaddr)
{
    uint32_t cpu = arch_cpu();
    uint32_t count = arch_cpu_count();
    uint32_t others = tlb_cpus[p] & ~(1u << cpu);
    arch_tlb_invalidate_page(vaddr);
    if (others == 0u) {
        return;
    }
    for (uint32_t to = 0u; to < NUM_CPU && to < count; to = to + 1u) {
        if (((others >> to) & 1u) == 1u) {
            tlb_ask(cpu, to, vaddr);
        }
    }
    /* A CPU that waits for the kernel lock takes no interrupt, so the lock is released while waiting. */
    spinlock_kernel_exit();
    for (uint32_t to = 0u; to < NUM_CPU && to < count; to = to + 1u) {
        if (((others >> to) & 1u) == 1u) {
            tlb_await(cpu, to);
        }
    }
    spinlock_kernel_enter();
}

uint32_t tlb_check(void)
{
    for (uint32_t i = 0u; i < NUM_CPU * NUM_CPU; i = i + 1u) {
        uint64_t request = arch_atomic_load(CELL_TLB_BASE + i);
#if defined(LOCK_BIG)
        /* A CPU waits for an answer outside the kernel lock, so a request may be outstanding during the walk. */
        if (request != 0ul && ((request - 1ul) & 0xffful) != 0ul) {
            return 1u;
        }
#else
        if (request != 0ul) {
            return 1u;
        }
#endif
    }
    return 0u;
}
