/* A discrete cosine transform of a block, rows then columns, in integers, and its walk in zigzag.
 * Inputs: the block. The loops run equally often for all. */
#include "program.h"

enum { SIZE = 8 };
int16_t block[SIZE][SIZE];
int16_t zigzag[SIZE * SIZE];
static const int8_t cosines[SIZE][SIZE] = {
    {45, 45, 45, 45, 45, 45, 45, 45},    {62, 53, 35, 12, -12, -35, -53, -62},
    {59, 24, -24, -59, -59, -24, 24, 59}, {53, -12, -62, -35, 35, 62, 12, -53},
    {45, -45, -45, 45, 45, -45, -45, 45}, {35, -62, 12, 53, -53, -12, 62, -35},
    {24, -59, 59, -24, -24, 59, -59, 24}, {12, -35, 53, -62, 62, -53, 35, -12}};

const uint32_t cases = 2;

void prepare(uint32_t number)
{
    for (uint32_t i = 0; i < SIZE * SIZE; i++)
        block[i / SIZE][i % SIZE] = (int16_t)(i * 3 + number);
}

NOINLINE static void line(int16_t *values, uint32_t step)
{
    int32_t sums[SIZE];
    for (uint32_t i = 0; i < SIZE; i++) {
        int32_t sum = 0;
        for (uint32_t j = 0; j < SIZE; j++)
            sum += cosines[i][j] * values[j * step];
        sums[i] = sum >> 7;
    }
    for (uint32_t i = 0; i < SIZE; i++)
        values[i * step] = (int16_t)sums[i];
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    for (uint32_t i = 0; i < SIZE; i++)
        line(block[i], 1);
    for (uint32_t i = 0; i < SIZE; i++)
        line(&block[0][i], SIZE);
    int32_t x = 0, y = 0, way = 1;
    for (uint32_t i = 0; i < SIZE * SIZE; i++) {
        zigzag[i] = block[y & 7][x & 7];
        if (way > 0 ? x == SIZE - 1 || y == 0 : y == SIZE - 1 || x == 0) {
            if (way > 0 ? x == SIZE - 1 : y != SIZE - 1)
                y++;
            else
                x++;
            way = -way;
        } else {
            x += way;
            y -= way;
        }
    }
    return (uint32_t)zigzag[0];
}
