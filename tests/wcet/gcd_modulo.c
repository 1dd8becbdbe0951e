/* The greatest common divisor by remainders: Euclid's algorithm.
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
    uint32_t a = first & 31, b = second & 31;
    while (b > 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}
