/* Repeatable pseudo-random numbers for test programs (xorshift64*, Vigna 2016). */
#ifndef ASHLAR_RANDOM_H
#define ASHLAR_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state; /* never 0 */
};

static inline uint64_t random_next(struct random *random)
{
    uint64_t x = random->state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    random->state = x;
    return x * 0x2545f4914f6cdd1dul;
}

#endif
