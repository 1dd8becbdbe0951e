/* Samples of a counted benchmark: taken, sorted, reported. Included by the one program that measures. */
#ifndef ASHLAR_BENCH_SAMPLE_H
#define ASHLAR_BENCH_SAMPLE_H

#include "bench.h"

#include "ashlar/print.h"
#include "ashlar/syscall.h"

#define ROUNDS 65u
#define WARM_UP 8u

static uint64_t sample[ROUNDS];
static uint64_t overhead; /* of two stamps with nothing between */

static uint64_t median(void)
{
    for (uint32_t i = 1; i < ROUNDS; i++) {
        uint64_t value = sample[i];
        uint32_t j = i;
        while (j > 0 && sample[j - 1] > value) {
            sample[j] = sample[j - 1];
            j--;
        }
        sample[j] = value;
    }
    return sample[ROUNDS / 2];
}

static void report(const char *name)
{
    uint64_t middle = median();
    print("BENCH %s %lu min %lu max %lu\n", name, middle, sample[0], sample[ROUNDS - 1]);
}

/* Runs `statement` WARM_UP + ROUNDS times and reports what lies between the two stamps, less the stamps. */
#define MEASURE(name, statement)                                                                                       \
    do {                                                                                                               \
        for (uint32_t round = 0; round < WARM_UP + ROUNDS; round++) {                                                  \
            if (round == WARM_UP) {                                                                                    \
                MARK();                                                                                                \
            }                                                                                                          \
            uint64_t begin = timestamp();                                                                              \
            statement;                                                                                                 \
            uint64_t end = timestamp();                                                                                \
            if (round >= WARM_UP) {                                                                                    \
                sample[round - WARM_UP] = end - begin - overhead;                                                      \
            }                                                                                                          \
        }                                                                                                              \
        MARK();                                                                                                        \
        report(name);                                                                                                  \
    } while (0)

static inline void require(uint32_t status, const char *what)
{
    if (status != STATUS_OK) {
        panic("%s: error %u\n", what, status);
    }
}

static void calibrate(void)
{
    uint64_t least = ~0ul;

    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint64_t begin = timestamp();
        uint64_t end = timestamp();
        least = end - begin < least ? end - begin : least;
    }
    overhead = least;
    MEASURE("calibration", __asm__ volatile(".rept 1000\n\tnop\n\t.endr"));
    if (sample[0] != 1000 || sample[ROUNDS - 1] != 1000) {
        panic("1000 nops counted as %lu to %lu: the time-stamp counter does not count instructions\n", sample[0],
              sample[ROUNDS - 1]);
    }
}

#endif
