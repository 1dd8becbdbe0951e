/* Atomic cells, each on a cache line of its own. */
#include "arch.h"
#include "locks.h"

_Static_assert(CELL_UNUSED_BASE <= NUM_ATOMIC_CELL, "more cells are in use than there are");

static struct {
    _Alignas(64) uint64_t value;
} cells[NUM_ATOMIC_CELL];

uint64_t arch_atomic_load(uint32_t cell)
{
    return __atomic_load_n(&cells[cell].value, __ATOMIC_ACQUIRE);
}

void arch_atomic_store(uint32_t cell, uint64_t value)
{
    __atomic_store_n(&cells[cell].value, value, __ATOMIC_RELEASE);
}

uint64_t arch_atomic_fetch_add(uint32_t cell, uint64_t value)
{
    return __atomic_fetch_add(&cells[cell].value, value, __ATOMIC_SEQ_CST);
}

uint64_t arch_atomic_swap(uint32_t cell, uint64_t value)
{
    return __atomic_exchange_n(&cells[cell].value, value, __ATOMIC_SEQ_CST);
}

uint64_t arch_atomic_cas(uint32_t cell, uint64_t expected, uint64_t value)
{
    __atomic_compare_exchange_n(&cells[cell].value, &expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}

void arch_spin_hint(void)
{
    __asm__ volatile("pause" : : : "memory");
}

/* Ghost operations of the proofs: no effect here. */
void arch_own(uint32_t lock)
{
    (void)lock;
}

void arch_disown(uint32_t lock)
{
    (void)lock;
}
