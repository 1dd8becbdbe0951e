/* Division by shifts and subtractions, as written for machines that cannot divide: the divisor is first moved up to
 * the dividend, then down again.
 * Inputs: any words. The loops depend on how far apart the highest bits are: all pairs of powers of two and their
 * neighbours below, and 0. */
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
        return UINT32_MAX;
    uint32_t quotient = 0, bit = 1;
    while (second < first && !(second & 0x80000000)) {
        second <<= 1;
        bit <<= 1;
    }
    while (bit > 0) {
        if (first >= second) {
            first -= second;
            quotient |= bit;
        }
        second >>= 1;
        bit >>= 1;
    }
    return quotient;
}
