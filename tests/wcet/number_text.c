/* A number read from decimal digits and written in base 16 and 10.
 * Inputs: six letters; reading ends at the first that is no digit. Cases: every count of digits, all nines, ones or
 * zeros. The written digits' most are those of 999999. */
#include "program.h"

enum { ROOM = 6 };
char text[ROOM], hexadecimal[8], decimal[10];

const uint32_t cases = 3 * (ROOM + 1);

void prepare(uint32_t number)
{
    static const char digits[3] = {'9', '1', '0'};
    for (uint32_t i = 0; i < ROOM; i++)
        text[i] = i < number / 3 ? digits[number % 3] : 'x';
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t value = 0, count = 0;
    for (uint32_t i = 0; i < ROOM && text[i] >= '0' && text[i] <= '9'; i++)
        value = 10 * value + (uint32_t)(text[i] - '0');
    for (int32_t shift = 28; shift >= 0; shift -= 4)
        hexadecimal[count++] = "0123456789abcdef"[value >> shift & 15];
    char *to = decimal + sizeof decimal;
    do {
        *--to = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    return (uint32_t)(decimal + sizeof decimal - to);
}
