/* Radix sort of words by digits of four bits.
 * Inputs: eight words. The loops run equally often for all; the cases are a few. */
#include "program.h"

enum { COUNT = 8, DIGITS = 16 };
uint32_t keys[COUNT];
static uint32_t moved[COUNT];

const uint32_t cases = 5;

void prepare(uint32_t number)
{
    for (uint32_t i = 0; i < COUNT; i++)
        keys[i] = number * 2654435769u * (i + 1);
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    for (uint32_t shift = 0; shift < 32; shift += 4) {
        uint32_t place[DIGITS + 1] = {0};
        for (uint32_t i = 0; i < COUNT; i++)
            place[(keys[i] >> shift) % DIGITS + 1]++;
        for (uint32_t digit = 1; digit < DIGITS; digit++)
            place[digit] += place[digit - 1];
        for (uint32_t i = 0; i < COUNT; i++) {
            uint32_t *at = &place[(keys[i] >> shift) % DIGITS];
            if (*at < COUNT)
                moved[(*at)++] = keys[i];
        }
        for (uint32_t i = 0; i < COUNT; i++)
            keys[i] = moved[i];
    }
    return keys[0];
}
