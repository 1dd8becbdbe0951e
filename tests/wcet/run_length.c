/* Run length coding and decoding.
 * Inputs: ten bytes. The loops see only which neighbours are equal: the cases take all 2^9 patterns of that. */
#include "program.h"

enum { LENGTH = 10 };
uint8_t plain[LENGTH], coded[2 * LENGTH], decoded[LENGTH];

const uint32_t cases = 1u << (LENGTH - 1);

void prepare(uint32_t number)
{
    for (uint32_t i = 1; i < LENGTH; i++)
        plain[i] = (uint8_t)(plain[i - 1] + (number >> (i - 1) & 1));
}

NOINLINE static uint32_t code(void)
{
    uint32_t from = 0, to = 0;
    while (from < LENGTH) {
        uint32_t run = 1;
        while (from + run < LENGTH && plain[from + run] == plain[from])
            run++;
        coded[to++] = (uint8_t)run;
        coded[to++] = plain[from];
        from += run;
    }
    return to;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t length = code(), to = 0;
    for (uint32_t i = 0; i < length; i += 2)
        for (uint32_t j = 0; j < coded[i] && to < LENGTH; j++)
            decoded[to++] = coded[i + 1];
    return to;
}
