/* The integral square root, bit by bit, and the length of a number as a check.
 * Inputs: any word. Cases: all powers of two and their neighbours below; the first loop depends on the highest bit
 * alone, the second on where the first stopped. */
#include "program.h"

const uint32_t cases = 65;

void prepare(uint32_t number)
{
    arguments[0] = number == 64 ? UINT32_MAX : (1u << number / 2) - number % 2;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t rest = first, root = 0, bit = 1u << 30;
    while (bit > rest)
        bit >>= 2;
    while (bit != 0) {
        if (rest >= root + bit) {
            rest -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
        bit >>= 2;
    }
    return root;
}
