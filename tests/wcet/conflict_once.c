/* A loop in which a costly branch is taken in one iteration only, and another in the even ones.
 * Inputs: which iteration, of ten. Cases: each, and none. conflict: 1 */
#include "program.h"

uint32_t cells[8];

const uint32_t cases = 12;

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
    for (uint32_t i = 0; i < 10; i++) {
        if (i == first)
            work(30);
        if (i % 2 == 0)
            work(6);
        else
            cells[0] += i;
    }
    return cells[0];
}
