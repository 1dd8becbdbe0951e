/* A matrix transposed in place, then walked along its diagonals.
 * Inputs: the matrix. The loops run equally often for all. */
#include "program.h"

enum { SIZE = 6 };
uint16_t matrix[SIZE * SIZE];
uint16_t diagonals[2 * SIZE - 1];

const uint32_t cases = 2;

void prepare(uint32_t number)
{
    for (uint32_t i = 0; i < SIZE * SIZE; i++)
        matrix[i] = (uint16_t)(i + number);
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    for (uint32_t row = 1; row < SIZE; row++) {
        for (uint32_t column = 0; column < row; column++) {
            uint16_t cell = matrix[row * SIZE + column];
            matrix[row * SIZE + column] = matrix[column * SIZE + row];
            matrix[column * SIZE + row] = cell;
        }
    }
    for (uint32_t sum = 0; sum < 2 * SIZE - 1; sum++) {
        uint32_t row = sum < SIZE ? 0 : sum - (SIZE - 1), total = 0;
        for (; row < SIZE && row <= sum; row++)
            total += matrix[row * SIZE + sum - row];
        diagonals[sum] = (uint16_t)total;
    }
    return diagonals[0];
}
