/* Elimination of a matrix into a lower and an upper triangle, in fractions of 1/256, and the solution of a system.
 * Inputs: the matrix and the right side. The loops run equally often for all, but for the division routine of machines
 * that have none: the cases take pivots of 1, of the most bits, and between, on dividends of every sign. */
#include "program.h"

enum { SIZE = 4 };
int32_t matrix[SIZE][SIZE], side[SIZE];

const uint32_t cases = 34;

void prepare(uint32_t number)
{
    for (uint32_t i = 0; i < SIZE * SIZE; i++)
        matrix[i / SIZE][i % SIZE] = (int32_t)(number * 37 * i) - 400;
    for (uint32_t i = 0; i < SIZE; i++) {
        matrix[i][i] = (int32_t)(number < 32 ? 1u << number : number - 33);
        side[i] = (int32_t)(0xfffffff >> i);
    }
}

static int32_t divided(int32_t value, int32_t by)
{
    return by > 0 ? (value << 4) / by : value;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    for (uint32_t pivot = 0; pivot < SIZE; pivot++) {
        for (uint32_t row = pivot + 1; row < SIZE; row++) {
            int32_t factor = divided(matrix[row][pivot], matrix[pivot][pivot]);
            matrix[row][pivot] = factor;
            for (uint32_t column = pivot + 1; column < SIZE; column++)
                matrix[row][column] -= factor * matrix[pivot][column] >> 4;
        }
    }
    for (uint32_t row = 1; row < SIZE; row++)
        for (uint32_t column = 0; column < row; column++)
            side[row] -= matrix[row][column] * side[column] >> 4;
    for (int32_t row = SIZE - 1; row >= 0; row--) {
        for (int32_t column = SIZE - 1; column > row; column--)
            side[row] -= matrix[row][column] * side[column] >> 4;
        side[row] = divided(side[row], matrix[row][row]);
    }
    return (uint32_t)side[0];
}
