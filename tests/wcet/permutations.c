/* All orders of four numbers, one after the other in the order of a dictionary.
 * Inputs: none. One case. */
#include "program.h"

enum { COUNT = 4 };
static uint8_t numbers[COUNT];

const uint32_t cases = 1;

void prepare(uint32_t number)
{
    arguments[0] = number;
}

static void exchange(uint32_t i, uint32_t j)
{
    uint8_t number = numbers[i];
    numbers[i] = numbers[j];
    numbers[j] = number;
}

NOINLINE static uint32_t advance(void)
{
    uint32_t i = COUNT - 1;
    while (i > 0 && numbers[i - 1] >= numbers[i])
        i--;
    if (i == 0)
        return 0;
    uint32_t j = COUNT - 1;
    while (numbers[j] <= numbers[i - 1])
        j--;
    exchange(i - 1, j);
    for (j = COUNT - 1; i < j; i++, j--)
        exchange(i, j);
    return 1;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t count = 1;
    for (uint32_t i = 0; i < COUNT; i++)
        numbers[i] = (uint8_t)i;
    while (advance())
        count++;
    return count;
}
