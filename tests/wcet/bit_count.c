/* Bits counted in three ways: by clearing the lowest, by shifting all out, and by halves.
 * Inputs: any word. The first loop's most are 32 bits set, the second's depends on the highest bit. Cases: 0 and all
 * words of ones of every length, at the low and at the high end. */
#include "program.h"

const uint32_t cases = 66;

void prepare(uint32_t number)
{
    uint32_t length = number / 2;
    uint32_t ones = length == 32 ? UINT32_MAX : (1u << length) - 1;
    arguments[0] = number % 2 && length > 0 ? ones << (32 - length) : ones;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t sparse = 0, shifted = 0, halves = first;
    for (uint32_t rest = first; rest != 0; rest &= rest - 1)
        sparse++;
    for (uint32_t rest = first; rest != 0; rest >>= 1)
        shifted += rest & 1;
    for (uint32_t i = 0, shift = 1; i < 5; i++, shift *= 2) {
        static const uint32_t masks[5] = {0x55555555, 0x33333333, 0x0f0f0f0f, 0x00ff00ff, 0x0000ffff};
        halves = (halves & masks[i]) + (halves >> shift & masks[i]);
    }
    return sparse + shifted + halves;
}
