/* Sets as words of bits: members walked by the lowest bit, and the first free one found word by word.
 * Inputs: three words. Cases: full, empty and single bits in each word, and the first word with all below a bit. */
#include "program.h"

enum { WORDS = 3 };
uint32_t set[WORDS];
uint8_t members[32 * WORDS];

const uint32_t cases = 3 + 32 * WORDS + 32;

void prepare(uint32_t number)
{
    for (uint32_t i = 0; i < WORDS; i++)
        set[i] = number == 0 ? UINT32_MAX : 0;
    if (number == 2)
        set[0] = set[1] = UINT32_MAX;
    if (number >= 3 && number < 3 + 32 * WORDS)
        set[(number - 3) / 32] = 1u << (number - 3) % 32;
    if (number >= 3 + 32 * WORDS)
        set[0] = (1u << (number - 3) % 32) - 1;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t count = 0, free = 0;
    for (uint32_t word = 0; word < WORDS; word++) {
        uint32_t rest = set[word];
        while (rest != 0) {
            uint32_t low = rest & -rest, bit = 0;
            while (low >>= 1)
                bit++;
            members[count++] = (uint8_t)(32 * word + bit);
            rest ^= 1u << bit;
        }
    }
    while (free < 32 * WORDS && set[free / 32] >> free % 32 & 1)
        free++;
    return count + free;
}
