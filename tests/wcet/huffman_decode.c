/* Decoding by a tree in constant memory, bit by bit.
 * Inputs: 12 bits. Cases: all. */
#include "program.h"

enum { BITS = 12, LEAF = 0x80 };
uint16_t bits;
uint8_t letters[BITS];
static const uint8_t tree[4][2] = {{LEAF | 'e', 1}, {LEAF | 't', 2}, {3, LEAF | 'a'}, {LEAF | 'q', LEAF | 'z'}};

const uint32_t cases = 1u << BITS;

void prepare(uint32_t number)
{
    bits = (uint16_t)number;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t at = 0, count = 0;
    while (at < BITS) {
        uint32_t node = 0;
        while (!(node & LEAF) && at < BITS)
            node = tree[node][bits >> at++ & 1];
        letters[count++] = (uint8_t)node;
    }
    return count;
}
