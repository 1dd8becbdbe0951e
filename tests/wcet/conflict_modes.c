/* The same mode is asked for at four places, by tables of cases and by comparisons: the work of one mode only is done.
 * Inputs: a mode. Cases: all. conflict: 2 */
#include "program.h"

uint32_t cells[8];

const uint32_t cases = 6;

void prepare(uint32_t number)
{
    arguments[0] = number;
}

NOINLINE static void work(uint32_t rounds)
{
    for (uint32_t i = rounds; i > 0; i--)
        cells[i & 7] += rounds;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    switch (first) {
    case 0:
        work(12);
        break;
    case 1:
        work(25);
        break;
    case 2:
        work(7);
        break;
    }
    cells[1]++;
    if (first == 2)
        work(24);
    cells[2]++;
    if (first != 1)
        work(18);
    cells[3]++;
    if (first == 0)
        work(15);
    return cells[3];
}
