/* Selection sort by a function that finds the least of the rest.
 * Inputs: five keys. Cases: all 5! orders; the loops run equally often for all. */
#include "program.h"

enum { COUNT = 5 };
uint16_t keys[COUNT];

const uint32_t cases = 120;

void prepare(uint32_t number)
{
    uint8_t numbers[COUNT];
    order(number, COUNT, numbers);
    for (uint32_t i = 0; i < COUNT; i++)
        keys[i] = (uint16_t)(1000u * numbers[i]);
}

NOINLINE static uint32_t least(const uint16_t *from, uint32_t count)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++)
        if (from[i] < from[best])
            best = i;
    return best;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    for (uint32_t i = 0; i + 1 < COUNT; i++) {
        uint32_t best = i + least(keys + i, COUNT - i);
        uint16_t key = keys[i];
        keys[i] = keys[best];
        keys[best] = key;
    }
    return keys[0];
}
