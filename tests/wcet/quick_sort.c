/* Quick sort with a stack of ranges in memory.
 * Inputs: five keys; the loops only compare them. Cases: all 5! orders, and keys that are all equal, which go like the
 * rising order. */
#include "program.h"

enum { COUNT = 5 };
uint8_t keys[COUNT];

const uint32_t cases = 121;

void prepare(uint32_t number)
{
    order(number, COUNT, keys);
    if (number == 120)
        for (uint32_t i = 0; i < COUNT; i++)
            keys[i] = 7;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    struct range {
        uint8_t low, high;
    } open[COUNT];
    uint32_t count = 1;
    open[0] = (struct range){0, COUNT - 1};
    while (count > 0) {
        struct range range = open[--count];
        uint32_t place = range.low;
        for (uint32_t i = range.low; i < range.high; i++) {
            if (keys[i] <= keys[range.high]) {
                uint8_t key = keys[i];
                keys[i] = keys[place];
                keys[place++] = key;
            }
        }
        uint8_t key = keys[range.high];
        keys[range.high] = keys[place];
        keys[place] = key;
        if (place > range.low + 1u)
            open[count++] = (struct range){range.low, (uint8_t)(place - 1)};
        if (place + 1 < range.high)
            open[count++] = (struct range){(uint8_t)(place + 1), range.high};
    }
    return keys[0];
}
