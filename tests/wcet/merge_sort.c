/* Merge sort from runs of one key upwards, with the rest of either run copied by its own loop.
 * Inputs: six keys; the loops only compare them. Cases: all 6! orders, so all ways to interleave two runs. */
#include "program.h"

enum { COUNT = 6 };
uint8_t keys[COUNT];
static uint8_t merged[COUNT];

const uint32_t cases = 720;

void prepare(uint32_t number)
{
    order(number, COUNT, keys);
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    for (uint32_t width = 1; width < COUNT; width *= 2) {
        for (uint32_t start = 0; start < COUNT; start += 2 * width) {
            uint32_t middle = smaller(start + width, COUNT), end = smaller(start + 2 * width, COUNT);
            uint32_t i = start, j = middle, to = start;
            while (i < middle && j < end)
                merged[to++] = keys[j] < keys[i] ? keys[j++] : keys[i++];
            while (i < middle)
                merged[to++] = keys[i++];
            while (j < end)
                merged[to++] = keys[j++];
        }
        for (uint32_t i = 0; i < COUNT; i++)
            keys[i] = merged[i];
    }
    return keys[0];
}
