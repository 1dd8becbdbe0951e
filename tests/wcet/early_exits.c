/* A loop with several exits, each of which alone would bound it.
 * Inputs: 20 bytes, and a budget of which four bits count. Cases: every budget, with the first zero at every place and
 * bytes of 1, or bytes so large that the sum ends the loop. */
#include "program.h"

enum { COUNT = 20 };
uint8_t bytes[COUNT];

const uint32_t cases = 16 * 21 * 2;

void prepare(uint32_t number)
{
    for (uint32_t i = 0; i < COUNT; i++)
        bytes[i] = i == number / 16 % 21 ? 0 : number / 336 ? 60 : 1;
    arguments[0] = number % 16;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t budget = first & 15, sum = 0, i;
    for (i = 0; i < COUNT; i++) {
        if (bytes[i] == 0)
            break;
        sum += bytes[i];
        if (sum > 200)
            return sum;
        if (budget-- == 0)
            goto out;
        if (i * i > 150)
            break;
    }
    sum += i;
out:
    return sum;
}
