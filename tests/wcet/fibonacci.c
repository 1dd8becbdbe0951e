/* Fibonacci numbers: by addition up to an index, up to the end of the word, and of a table.
 * Inputs: an index, cut off at 30. Cases: every index up to 40. */
#include "program.h"

static uint32_t table[24];

const uint32_t cases = 41;

void prepare(uint32_t number)
{
    arguments[0] = number;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t count = first > 30 ? 30 : first, a = 0, b = 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t c = a + b;
        a = b;
        b = c;
    }
    table[0] = 0;
    table[1] = 1;
    for (uint32_t *at = table + 2; at < table + 24; at++)
        *at = at[-1] + at[-2];
    return a + table[count & 15];
}
