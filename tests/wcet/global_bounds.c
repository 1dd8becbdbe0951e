/* Loops that count in memory, and loops whose bounds stand there.
 * Inputs: a size, cut off at 9. Cases: every size up to 12. */
#include "program.h"

volatile uint32_t counter;
uint32_t limit, total;
static uint32_t rows, columns;

const uint32_t cases = 13;

void prepare(uint32_t number)
{
    arguments[0] = number;
}

NOINLINE static void step(void)
{
    total += rows;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    limit = first < 9 ? first : 9;
    total = 0;
    for (counter = 0; counter < 14; counter++)
        total += counter;
    for (counter = 20; counter > 0; counter -= 4)
        total ^= counter;
    for (uint32_t i = 0; i < limit; i++)
        step();
    columns = 4;
    for (rows = 3; rows > 0; rows--)
        for (uint32_t i = 0; i < columns; i++)
            step();
    return total;
}
