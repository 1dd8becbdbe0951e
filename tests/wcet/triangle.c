/* Triangular nests: the inner loop's start, end and step follow outer counters.
 * Inputs: a size of which four bits count. Cases: every size. */
#include "program.h"

uint32_t cells[16];

const uint32_t cases = 32;

void prepare(uint32_t number)
{
    arguments[0] = number;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t size = first & 15, steps = 0;
    for (uint32_t i = 0; i < size; i++)
        for (uint32_t j = 0; j <= i; j++)
            cells[j] += steps++;
    for (uint32_t i = 0; i < size; i++)
        for (uint32_t j = i; j < size; j += 2)
            cells[j] ^= steps++;
    for (uint32_t i = 0; i < 6; i++)
        for (uint32_t j = 0; j < i; j++)
            for (uint32_t k = j; k < i; k++)
                cells[k] -= steps++;
    return steps;
}
