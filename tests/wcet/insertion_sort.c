/* Insertion sort.
 * Inputs: six keys; the loops only compare them. Cases: all 6! orders. Equal keys move no further than unequal ones. */
#include "program.h"

enum { COUNT = 6 };
uint8_t keys[COUNT];

const uint32_t cases = 720;

void prepare(uint32_t number)
{
    order(number, COUNT, keys);
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    for (uint32_t i = 1; i < COUNT; i++) {
        uint8_t key = keys[i];
        uint32_t j = i;
        while (j > 0 && keys[j - 1] > key) {
            keys[j] = keys[j - 1];
            j--;
        }
        keys[j] = key;
    }
    return keys[0];
}
