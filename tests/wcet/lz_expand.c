/* Decompression: literals, and copies of earlier bytes by distance and length, clipped to the buffer.
 * Inputs: six codes. Cases: for every mixture of literals and copies of three lengths; the copy loop's most is the
 * longest copy, the code loop's most six codes. */
#include "program.h"

enum { CODES = 6, ROOM = 16 };
uint8_t codes[CODES], plain[ROOM];

const uint32_t cases = 4096;

void prepare(uint32_t number)
{
    static const uint8_t kinds[4] = {'a', 0x80 | 1 << 3 | 1, 0x80 | 2 << 3 | 3, 0x80 | 3 << 3 | 7};
    for (uint32_t i = 0; i < CODES; i++)
        codes[i] = kinds[number >> 2 * i & 3];
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t to = 0;
    for (uint32_t i = 0; i < CODES && to < ROOM; i++) {
        if (codes[i] < 0x80) {
            plain[to++] = codes[i];
            continue;
        }
        uint32_t length = codes[i] & 7, distance = codes[i] >> 3 & 15;
        if (distance > to)
            return 0;
        while (length > 0 && to < ROOM) {
            plain[to] = plain[to - distance];
            to++;
            length--;
        }
    }
    return to;
}
