/* Time, by the kernel's clock call. */
#include "clock.h"

#include "ashlar/syscall.h"

#define MEASURE_NS 20000000ul
#define SAMPLES 16u

static uint64_t begin_tsc, begin_ns;

uint64_t clock_tsc(void)
{
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
    return low | (uint64_t)high << 32;
}

uint64_t clock_now(void)
{
    return sys_clock();
}

/* A pair of simultaneous readings: of several, the one that was least disturbed. */
static void sample(uint64_t *tsc, uint64_t *ns)
{
    uint64_t best = ~0ul;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        uint64_t before = clock_tsc();
        uint64_t now = sys_clock();
        uint64_t width = clock_tsc() - before;
        if (width < best) {
            best = width;
            *tsc = before + width / 2;
            *ns = now;
        }
    }
}

void clock_measure_begin(void)
{
    sample(&begin_tsc, &begin_ns);
}

uint64_t clock_measure_khz(void)
{
    uint64_t tsc = 0, ns = 0;
    sys_sleep(begin_ns + MEASURE_NS);
    do {
        sample(&tsc, &ns);
    } while (ns < begin_ns + MEASURE_NS);
    return (tsc - begin_tsc) * 1000000ul / (ns - begin_ns);
}
