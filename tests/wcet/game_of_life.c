/* Generations of cells on a torus, until one is stable or four have gone.
 * Inputs: a field of 4 times 4. Cases: all with a full, an empty or an alternating half, and those of one row. */
#include "program.h"

enum { SIZE = 4, GENERATIONS = 4 };
uint8_t field[SIZE][SIZE];

const uint32_t cases = 64;

void prepare(uint32_t number)
{
    static const uint16_t halves[4] = {0x00, 0xff, 0x5a, 0x13};
    uint16_t cells = (uint16_t)(halves[number % 4] << 8 | (halves[number / 4 % 4] ^ number / 16));
    for (uint32_t i = 0; i < SIZE * SIZE; i++)
        field[i / SIZE][i % SIZE] = cells >> i & 1;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t generation = 0, changed = 1;
    while (changed && generation < GENERATIONS) {
        uint8_t next[SIZE][SIZE];
        changed = 0;
        for (uint32_t y = 0; y < SIZE; y++) {
            for (uint32_t x = 0; x < SIZE; x++) {
                uint32_t neighbours = 0;
                for (uint32_t i = 0; i < 9; i++)
                    if (i != 4)
                        neighbours += field[(y + i / 3 + SIZE - 1) % SIZE][(x + i % 3 + SIZE - 1) % SIZE];
                next[y][x] = neighbours == 3 || (neighbours == 2 && field[y][x]);
                changed |= next[y][x] ^ field[y][x];
            }
        }
        for (uint32_t i = 0; i < SIZE * SIZE; i++)
            field[i / SIZE][i % SIZE] = next[i / SIZE][i % SIZE];
        generation++;
    }
    return generation;
}
