/* Trial division up to the root.
 * Inputs: a number of which eight bits count. Cases: all. */
#include "program.h"

const uint32_t cases = 256;

void prepare(uint32_t number)
{
    arguments[0] = number;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t candidate = first & 255;
    if (candidate < 2)
        return 0;
    for (uint32_t divisor = 2; divisor * divisor <= candidate; divisor++)
        if (candidate % divisor == 0)
            return 0;
    return 1;
}
