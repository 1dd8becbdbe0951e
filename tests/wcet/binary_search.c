/* Binary search in a table.
 * Inputs: the table of 15 numbers, whatever their order, and the number looked for. Each step goes left or right by one
 * comparison: a table that rises, searched for each of its numbers and each gap, takes every way down. */
#include "program.h"

enum { COUNT = 15 };
int16_t table[COUNT];

const uint32_t cases = 2 * COUNT + 1;

void prepare(uint32_t number)
{
    for (uint32_t i = 0; i < COUNT; i++)
        table[i] = (int16_t)(2 * i + 1);
    arguments[0] = number;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    int16_t wanted = (int16_t)first;
    int32_t low = 0, high = COUNT - 1;
    while (low <= high) {
        int32_t middle = (low + high) / 2;
        if (table[middle] == wanted)
            return (uint32_t)middle;
        if (table[middle] < wanted)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return COUNT;
}
