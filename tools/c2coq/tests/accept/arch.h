#ifndef ARCH_H
#define ARCH_H
#include <stdint.h>
/* Not in the subset: only the prototypes count. */
#define ARCH_BARRIER() __asm__ volatile("" ::: "memory")
typedef struct { volatile uint64_t *word; } cell_t;
extern cell_t cells[];
static inline uint64_t arch_clock_ns(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return ((uint64_t)high << 32 | low) ? *cells[0].word : sizeof(cell_t);
}
#endif
