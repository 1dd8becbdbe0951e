/* The greatest common divisor by subtractions.
 * Inputs: two numbers of which five bits count. Cases: all pairs. */
#include "program.h"

const uint32_t cases = 1024;

void prepare(uint32_t number)
{
    arguments[0] = number & 31;
    arguments[1] = number >> 5;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint8_t a = first & 31, b = second & 31;
    if (a == 0 || b == 0)
        return a | b;
    while (a != b) {
        if (a > b)
            a = (uint8_t)(a - b);
        else
            b = (uint8_t)(b - a);
    }
    return a;
}
