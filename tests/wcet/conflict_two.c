/* Two branches that exclude one another, each with work.
 * Inputs: a number. Cases: both ways, and neither. conflict: 2 */
#include "program.h"

uint32_t cells[8];

const uint32_t cases = 30;

void prepare(uint32_t number)
{
    arguments[0] = number;
}

NOINLINE static void work(uint32_t rounds)
{
    for (uint32_t i = 0; i < rounds; i++)
        cells[i & 7] += i;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    if (first < 10)
        work(40);
    cells[0]++;
    if (first > 20)
        work(50);
    return cells[0];
}
