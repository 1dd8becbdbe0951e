/* Loops whose counters are multiplied, divided, shifted and rotated.
 * Inputs: any words. Cases: all powers of two and their neighbours below for the loops that end with their argument;
 * the other loops take their most for any. */
#include "program.h"

const uint32_t cases = 64;

void prepare(uint32_t number)
{
    arguments[0] = (1u << number / 2) - number % 2;
    arguments[1] = number;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t steps = 0;
    for (uint32_t i = 1; i < 1000; i *= 3)
        steps += i ^ first;
    for (uint32_t i = 100000; i > 5; i /= 7)
        steps ^= i + second;
    for (uint32_t bit = 1; bit != 0; bit <<= 1)
        steps += (first & bit) != 0;
    for (int32_t i = (int32_t)first; i > 0; i >>= 2)
        steps ^= (uint32_t)i;
    for (uint32_t bit = 0x80000000; bit > first; bit >>= 1)
        steps++;
    return steps;
}
