/* Quotients and remainders, signed and not, of the compiler's own: library routines where the machine cannot divide.
 * Inputs: dividend and divisor, any words. The routine's loops depend on how far apart the highest bits are: the cases
 * take all pairs of powers of two and their neighbours below, and 0. */
#include "program.h"

const uint32_t cases = 65 * 65;

static uint32_t number_of(uint32_t index)
{
    return index == 64 ? 0 : (1u << index / 2) - index % 2;
}

void prepare(uint32_t number)
{
    arguments[0] = number_of(number % 65);
    arguments[1] = number_of(number / 65);
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    if (second == 0)
        return 0;
    uint32_t result = first / second + first % second;
    int32_t small = (int32_t)(second >> 1);
    if (small > 0)
        result += (uint32_t)((int32_t)first / small - (int32_t)first % small);
    return result;
}
