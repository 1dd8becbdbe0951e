/* The median of seven by quick select: partitions that only go where the median is.
 * Inputs: seven keys; the loops only compare them. Cases: all 7! orders, and keys that are all equal. */
#include "program.h"

enum { COUNT = 7 };
uint8_t keys[COUNT];

const uint32_t cases = 5041;

void prepare(uint32_t number)
{
    order(number, COUNT, keys);
    if (number == 5040)
        for (uint32_t i = 0; i < COUNT; i++)
            keys[i] = 1;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t low = 0, high = COUNT - 1;
    while (low < high) {
        uint8_t pivot = keys[high];
        uint32_t place = low;
        for (uint32_t i = low; i < high; i++) {
            if (keys[i] < pivot) {
                uint8_t key = keys[i];
                keys[i] = keys[place];
                keys[place++] = key;
            }
        }
        keys[high] = keys[place];
        keys[place] = pivot;
        if (place == COUNT / 2)
            break;
        if (place < COUNT / 2)
            low = place + 1;
        else
            high = place - 1;
    }
    return keys[COUNT / 2];
}
