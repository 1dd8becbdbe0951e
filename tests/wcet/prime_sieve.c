/* The sieve of Eratosthenes.
 * Inputs: none. One case. */
#include "program.h"

enum { COUNT = 50 };
static uint8_t composite[COUNT];

const uint32_t cases = 1;

void prepare(uint32_t number)
{
    arguments[0] = number;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t primes = 0;
    for (uint32_t i = 0; i < COUNT; i++)
        composite[i] = 0;
    for (uint32_t i = 2; i * i < COUNT; i++)
        if (!composite[i])
            for (uint32_t j = i * i; j < COUNT; j += i)
                composite[j] = 1;
    for (uint32_t i = 2; i < COUNT; i++)
        primes += !composite[i];
    return primes;
}
