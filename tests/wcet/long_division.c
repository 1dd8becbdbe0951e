/* Restoring division with a counter, and the decimal digits of a word by it.
 * Inputs: any word. The digit loop's most is ten digits; the cases take all powers of ten and their neighbours, and the
 * greatest word. */
#include "program.h"

uint8_t digits[10];

const uint32_t cases = 31;

void prepare(uint32_t number)
{
    uint32_t power = 1;
    for (uint32_t i = 0; i < number / 3; i++)
        power *= 10;
    arguments[0] = number < 30 ? power + number % 3 - 1 : UINT32_MAX;
}

NOINLINE static uint32_t divide(uint32_t value, uint32_t by, uint32_t *rest)
{
    uint32_t remainder = 0;
    for (uint32_t i = 0; i < 32; i++) {
        remainder = remainder << 1 | value >> 31;
        value <<= 1;
        if (remainder >= by) {
            remainder -= by;
            value |= 1;
        }
    }
    *rest = remainder;
    return value;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t count = 0;
    do {
        uint32_t digit;
        first = divide(first, 10, &digit);
        digits[count++] = (uint8_t)digit;
    } while (first > 0 && count < sizeof digits);
    return count;
}
