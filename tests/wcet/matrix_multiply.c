/* The product of two square matrices.
 * Inputs: both matrices. The loops run equally often for all. */
#include "program.h"

enum { SIZE = 5 };
int32_t left[SIZE][SIZE], right[SIZE][SIZE], product[SIZE][SIZE];

const uint32_t cases = 2;

void prepare(uint32_t number)
{
    for (uint32_t i = 0; i < SIZE * SIZE; i++)
        left[i / SIZE][i % SIZE] = right[i % SIZE][i / SIZE] = (int32_t)(i * (number + 1));
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    for (uint32_t row = 0; row < SIZE; row++) {
        for (uint32_t column = 0; column < SIZE; column++) {
            int32_t sum = 0;
            for (uint32_t i = 0; i < SIZE; i++)
                sum += left[row][i] * right[i][column];
            product[row][column] = sum;
        }
    }
    return (uint32_t)product[SIZE - 1][SIZE - 1];
}
