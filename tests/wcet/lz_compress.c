/* Compression by references to earlier bytes, the longest match in a small window.
 * Inputs: ten bytes. Cases: all texts of two letters, which have the longest matches, and one of different letters,
 * which has none, so that every byte takes a turn of its own. */
#include "program.h"

enum { LENGTH = 10, WINDOW = 6, LONGEST = 4 };
uint8_t plain[LENGTH], coded[2 * LENGTH];

const uint32_t cases = (1u << LENGTH) + 1;

void prepare(uint32_t number)
{
    for (uint32_t i = 0; i < LENGTH; i++)
        plain[i] = (uint8_t)(number == 1u << LENGTH ? i : number >> i & 1);
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t to = 0;
    for (uint32_t at = 0; at < LENGTH;) {
        uint32_t best = 0, distance = 0;
        uint32_t start = at > WINDOW ? at - WINDOW : 0;
        for (uint32_t from = start; from < at; from++) {
            uint32_t length = 0;
            while (length < LONGEST && at + length < LENGTH && plain[from + length] == plain[at + length])
                length++;
            if (length > best) {
                best = length;
                distance = at - from;
            }
        }
        coded[to++] = best > 1 ? (uint8_t)(0x80 | distance << 3 | best) : plain[at];
        at += best > 1 ? best : 1;
    }
    return to;
}
