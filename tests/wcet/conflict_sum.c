/* Three options with costs that a limit admits in pairs only, checked by arithmetic.
 * Inputs: three amounts. Cases: all of small and large ones. conflict: 3 */
#include "program.h"

uint32_t amounts[3];
uint32_t cells[8];

const uint32_t cases = 27;

void prepare(uint32_t number)
{
    static const uint32_t sizes[3] = {0, 40, 100};
    amounts[0] = sizes[number % 3];
    amounts[1] = sizes[number / 3 % 3];
    amounts[2] = sizes[number / 9];
}

NOINLINE static void work(uint32_t rounds)
{
    while (rounds-- > 0)
        cells[rounds & 7] += rounds;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t a = amounts[0] & 127, b = amounts[1] & 127, c = amounts[2] & 127;
    if (a + b + c > 100)
        return 0;
    if (a >= 40)
        work(20);
    cells[0]++;
    if (b >= 40)
        work(21);
    cells[1]++;
    if (c >= 40)
        work(22);
    return cells[1];
}
