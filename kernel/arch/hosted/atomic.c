/* Atomic cells, each on a cache line of its own. */
#include <sys/syscall.h>
#include <unistd.h>

#include "arch.h"
#include "hosted_parts.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static struct {
    _Alignas(64) uint64_t value;
} cells[NUM_ATOMIC_CELL];

void hosted_cells_reset(void)
{
    for (uint32_t cell = 0; cell < NUM_ATOMIC_CELL; cell++) {
        __atomic_store_n(&cells[cell].value, 0, __ATOMIC_RELAXED);
    }
}

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

/* With fair locks every waiter must be running when its turn comes. When the host has fewer processors than the test
 * has CPUs, the next waiter may be descheduled, so a CPU that spins for long yields its processor. The benchmark pins
 * its CPUs and defines HOSTED_DEDICATED. */
void arch_spin_hint(void)
{
#if !defined(HOSTED_DEDICATED)
    static _Thread_local uint32_t spins;

    spins++;
    if (spins % 64 == 0) {
        syscall(SYS_sched_yield); /* sched_yield() is the kernel's function here */
    }
#endif
#if defined(__x86_64__)
    _mm_pause();
#endif
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
