/* A cyclic redundancy check of 16 bits by a table of nibbles that is made first, for a length that is an argument.
 * Inputs: the message and its length, of which four bits count. Cases: every length. */
#include "program.h"

enum { LONGEST = 15 };
uint8_t message[LONGEST];
static uint16_t table[16];

const uint32_t cases = 2 * (LONGEST + 1);

void prepare(uint32_t number)
{
    for (uint32_t i = 0; i < LONGEST; i++)
        message[i] = (uint8_t)(3 * i + number);
    arguments[0] = number;
}

NOINLINE static uint16_t checked(const uint8_t *from, uint32_t length)
{
    uint16_t check = 0;
    while (length-- > 0) {
        check = (uint16_t)(check << 4 ^ table[check >> 12 ^ *from >> 4]);
        check = (uint16_t)(check << 4 ^ table[check >> 12 ^ (*from & 15)]);
        from++;
    }
    return check;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    for (uint32_t nibble = 0; nibble < 16; nibble++) {
        uint16_t check = (uint16_t)(nibble << 12);
        for (uint32_t bit = 0; bit < 4; bit++)
            check = (uint16_t)(check & 0x8000 ? check << 1 ^ 0x1021 : check << 1);
        table[nibble] = check;
    }
    return checked(message, first & 15) + checked(message, 2);
}
