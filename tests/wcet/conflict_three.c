/* Three branches of which any two go together, but not all three: a circle of comparisons.
 * Inputs: three bytes; the branches only compare them. Cases: all triples of three numbers. conflict: 3 */
#include "program.h"

uint8_t keys[3];
uint32_t cells[8];

const uint32_t cases = 27;

void prepare(uint32_t number)
{
    keys[0] = (uint8_t)(number % 3);
    keys[1] = (uint8_t)(number / 3 % 3);
    keys[2] = (uint8_t)(number / 9);
}

NOINLINE static void work(uint32_t rounds)
{
    for (uint32_t i = 0; i < rounds; i++)
        cells[i & 7] ^= i;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint8_t a = keys[0], b = keys[1], c = keys[2];
    if (a < b)
        work(30);
    cells[0]++;
    if (b < c)
        work(31);
    cells[1]++;
    if (c < a)
        work(32);
    return cells[1];
}
