/* A cyclic redundancy check, bit by bit.
 * Inputs: eight bytes. The loops run equally often for all. */
#include "program.h"

enum { LENGTH = 8 };
uint8_t message[LENGTH];

const uint32_t cases = 8;

void prepare(uint32_t number)
{
    for (uint32_t i = 0; i < LENGTH; i++)
        message[i] = (uint8_t)(number * (i + 91));
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t check = 0xffffffff;
    for (uint32_t i = 0; i < LENGTH; i++) {
        check ^= message[i];
        for (uint32_t bit = 0; bit < 8; bit++)
            check = check & 1 ? check >> 1 ^ 0xedb88320 : check >> 1;
    }
    return ~check;
}
