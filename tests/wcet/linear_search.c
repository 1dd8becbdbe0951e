/* Linear searches: up to a limit given by the caller and cut off, and backwards.
 * Inputs: 20 bytes, the limit, the byte looked for. The most iterations are those of a search without success; the
 * cases take every limit up to 40 and every place of success. */
#include "program.h"

enum { COUNT = 20 };
uint8_t bytes[COUNT];

const uint32_t cases = 41 * (COUNT + 1);

void prepare(uint32_t number)
{
    for (uint32_t i = 0; i < COUNT; i++)
        bytes[i] = number / 41 == i;
    arguments[0] = number % 41;
    arguments[1] = 1;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t limit = first < COUNT ? first : COUNT, found = COUNT, last = COUNT;
    for (uint32_t i = 0; i < limit; i++) {
        if (bytes[i] == (uint8_t)second) {
            found = i;
            break;
        }
    }
    while (last > 0 && bytes[last - 1] != (uint8_t)second)
        last--;
    return found + last;
}
