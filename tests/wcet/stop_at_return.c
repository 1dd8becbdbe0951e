/* A flag in memory that a called function sets ends a loop; another function returns from inside two.
 * Inputs: 4 times 4 bytes. Cases: one byte of 1 at every place, or none. */
#include "program.h"

enum { SIZE = 4 };
uint8_t grid[SIZE][SIZE];
static uint32_t stop;

const uint32_t cases = SIZE * SIZE + 1;

void prepare(uint32_t number)
{
    for (uint32_t i = 0; i < SIZE * SIZE; i++)
        grid[i / SIZE][i % SIZE] = i == number;
}

NOINLINE static void visit(uint32_t place)
{
    if (grid[0][place % SIZE] == 1 || place == 10)
        stop = 1;
}

NOINLINE static uint32_t find(uint8_t wanted)
{
    for (uint32_t y = 0; y < SIZE; y++)
        for (uint32_t x = 0; x < SIZE; x++)
            if (grid[y][x] == wanted)
                return y * SIZE + x;
    return SIZE * SIZE;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t place = 0;
    stop = 0;
    while (!stop)
        visit(place++);
    return place + find(1);
}
