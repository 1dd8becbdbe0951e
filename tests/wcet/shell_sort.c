/* Shell sort with the gaps 4, 2 and 1.
 * Inputs: seven keys; the loops only compare them. Cases: all 7! orders. */
#include "program.h"

enum { COUNT = 7 };
uint8_t keys[COUNT];

const uint32_t cases = 5040;

void prepare(uint32_t number)
{
    order(number, COUNT, keys);
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    for (uint32_t gap = 4; gap > 0; gap /= 2) {
        for (uint32_t i = gap; i < COUNT; i++) {
            uint8_t key = keys[i];
            uint32_t j = i;
            for (; j >= gap && keys[j - gap] > key; j -= gap)
                keys[j] = keys[j - gap];
            keys[j] = key;
        }
    }
    return keys[0];
}
