/* A power modulo a prime, by squares.
 * Inputs: a base, and an exponent of which ten bits count. Cases: all exponents; the base does not steer. */
#include "program.h"

enum { PRIME = 997 };

const uint32_t cases = 1024;

void prepare(uint32_t number)
{
    arguments[0] = number * 7919;
    arguments[1] = number;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t base = first % PRIME, exponent = second & 1023, power = 1;
    while (exponent > 0) {
        if (exponent & 1)
            power = power * base % PRIME;
        base = base * base % PRIME;
        exponent >>= 1;
    }
    return power;
}
