/* What the programs of the counted benchmarks share. Counting needs an emulator whose time-stamp counter advances by one
 * with every instruction (QEMU with -icount shift=0); bench_ipc checks that it does before it counts anything. */
#ifndef ASHLAR_BENCH_H
#define ASHLAR_BENCH_H

#include <stdint.h>

#define BOARD_ADDRESS 0x30000000ul /* the page that two programs of a benchmark share */
#define BOARD_NOW 0u               /* word: stamped again and again by bench_ipc while it waits for an interrupt */
#define BOARD_WOKEN 1u             /* word: stamped by bench_waiter as the first thing after it was woken */
#define BOARD_ROUND 2u             /* word: rounds bench_waiter has served, written last */

/* One piece of assembly, so that the instructions of a stamp are the same everywhere. */
static inline uint64_t timestamp(void)
{
    uint64_t now;
    __asm__ volatile("rdtsc\n\tshl $32, %%rdx\n\tor %%rdx, %%rax\n\tmov %%rax, %0" : "=r"(now)::"rax", "rdx", "memory");
    return now;
}

/* Where the samples of an operation begin and where they end, for an emulator that counts each instruction of theirs
 * (tools/bench/plugin): a no-operation that compilers do not make. */
#define MARK() __asm__ volatile(".byte 0x0f, 0x1f, 0x80, 0x6d, 0x61, 0x72, 0x6b" ::: "memory")

#endif
