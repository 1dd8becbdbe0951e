/* Copies by words with the rest in bytes, and fills, of sizes that callers give.
 * Inputs: a count of which six bits count. Cases: every count. */
#include "program.h"

uint32_t from[16], to[16];

const uint32_t cases = 64;

void prepare(uint32_t number)
{
    arguments[0] = number;
}

NOINLINE static void copy(void *target, const void *source, uint32_t size)
{
    uint32_t *words = target;
    const uint32_t *source_words = source;
    while (size >= 4) {
        *words++ = *source_words++;
        size -= 4;
    }
    uint8_t *bytes = (uint8_t *)words;
    const uint8_t *source_bytes = (const uint8_t *)source_words;
    while (size-- > 0)
        *bytes++ = *source_bytes++;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t count = first & 63;
    copy(to, from, count);
    copy(from, to, 11);
    uint8_t *end = (uint8_t *)to + count;
    for (uint8_t *byte = (uint8_t *)to; byte != end; byte++)
        *byte = 0;
    return count;
}
