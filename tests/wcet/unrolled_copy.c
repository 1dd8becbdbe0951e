/* Copies by steps of eight with a jump into the middle of the first, and by words with the rest in bytes.
 * Inputs: a count of which five bits count. Cases: every count. */
#include "program.h"

uint8_t from[32], to[32];

const uint32_t cases = 64;

void prepare(uint32_t number)
{
    arguments[0] = number;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t count = first & 31, at = 0;
    if (count == 0)
        return 0;
    uint32_t rounds = (count + 7) / 8;
    switch (count % 8) {
    case 0:
        for (; rounds > 0; rounds--) {
            to[at] = from[at], at++;
            __attribute__((fallthrough));
        case 7:
            to[at] = from[at], at++;
            __attribute__((fallthrough));
        case 6:
            to[at] = from[at], at++;
            __attribute__((fallthrough));
        case 5:
            to[at] = from[at], at++;
            __attribute__((fallthrough));
        case 4:
            to[at] = from[at], at++;
            __attribute__((fallthrough));
        case 3:
            to[at] = from[at], at++;
            __attribute__((fallthrough));
        case 2:
            to[at] = from[at], at++;
            __attribute__((fallthrough));
        case 1:
            to[at] = from[at], at++;
        }
    }
    return at;
}
