/* Four branches of which any three go together, but not all four.
 * Inputs: four bytes; the branches only compare them. Cases: all of four numbers. conflict: 4 */
#include "program.h"

uint8_t keys[4];
uint32_t cells[8];

const uint32_t cases = 256;

void prepare(uint32_t number)
{
    for (uint32_t i = 0; i < 4; i++)
        keys[i] = (uint8_t)(number >> 2 * i & 3);
}

NOINLINE static void work(uint32_t rounds)
{
    for (uint32_t i = 0; i < rounds; i++)
        cells[i & 7] -= i;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint8_t a = keys[0], b = keys[1], c = keys[2], d = keys[3];
    if (a < b)
        work(30);
    cells[0]++;
    if (b < c)
        work(31);
    cells[1]++;
    if (c < d)
        work(32);
    cells[2]++;
    if (d < a)
        work(33);
    return cells[2];
}
