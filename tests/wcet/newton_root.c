/* The integral square root by Newton's method, from above.
 * Inputs: a number of which ten bits count. Cases: all. */
#include "program.h"

const uint32_t cases = 1024;

void prepare(uint32_t number)
{
    arguments[0] = number;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t square = first & 1023;
    if (square < 2)
        return square;
    uint32_t root = square / 2;
    for (uint32_t step = 0; step < 12; step++) {
        uint32_t next = (root + square / root) / 2;
        if (next >= root)
            break;
        root = next;
    }
    return root;
}
