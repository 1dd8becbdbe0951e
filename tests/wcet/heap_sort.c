/* Heap sort: a heap is made, then taken apart.
 * Inputs: six keys; the loops only compare them. Cases: all 6! orders; an equal key only stops a descent earlier. */
#include "program.h"

enum { COUNT = 6 };
uint8_t keys[COUNT];

const uint32_t cases = 720;

void prepare(uint32_t number)
{
    order(number, COUNT, keys);
}

NOINLINE static void sink(uint32_t place, uint32_t end)
{
    uint8_t key = keys[place];
    while (2 * place + 1 < end) {
        uint32_t child = 2 * place + 1;
        if (child + 1 < end && keys[child + 1] > keys[child])
            child++;
        if (keys[child] <= key)
            break;
        keys[place] = keys[child];
        place = child;
    }
    keys[place] = key;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    for (uint32_t i = COUNT / 2; i > 0; i--)
        sink(i - 1, COUNT);
    for (uint32_t end = COUNT - 1; end > 0; end--) {
        uint8_t key = keys[0];
        keys[0] = keys[end];
        keys[end] = key;
        sink(0, end);
    }
    return keys[0];
}
