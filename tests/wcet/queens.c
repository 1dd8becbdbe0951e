/* The four queens, by search with a stack of columns.
 * Inputs: none. One case. */
#include "program.h"

enum { SIZE = 4 };

const uint32_t cases = 1;

void prepare(uint32_t number)
{
    arguments[0] = number;
}

NOINLINE static uint32_t attacked(const uint8_t *columns, uint32_t row, uint32_t column)
{
    for (uint32_t above = 0; above < row; above++) {
        uint32_t apart = row - above;
        if (columns[above] == column || columns[above] + apart == column || columns[above] == column + apart)
            return 1;
    }
    return 0;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint8_t columns[SIZE];
    uint32_t row = 0, column = 0, solutions = 0;
    for (;;) {
        while (column < SIZE && attacked(columns, row, column))
            column++;
        if (column < SIZE && row + 1 < SIZE) {
            columns[row++] = (uint8_t)column;
            column = 0;
            continue;
        }
        solutions += column < SIZE;
        if (row == 0)
            return solutions;
        column = columns[--row] + 1u;
    }
}
