/* A heap with a count in memory: keys are put in by climbing, then the least is taken until none is left.
 * Inputs: five keys; the loops only compare them. Cases: all 5! orders. */
#include "program.h"

enum { COUNT = 5 };
uint8_t keys[COUNT];
static struct {
    uint32_t count;
    uint8_t keys[COUNT];
} heap;

const uint32_t cases = 120;

void prepare(uint32_t number)
{
    order(number, COUNT, keys);
}

NOINLINE static void put(uint8_t key)
{
    uint32_t at = heap.count++;
    while (at > 0 && heap.keys[(at - 1) / 2] > key) {
        heap.keys[at] = heap.keys[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap.keys[at] = key;
}

NOINLINE static uint8_t take(void)
{
    uint8_t least = heap.keys[0], key = heap.keys[--heap.count];
    uint32_t at = 0;
    for (uint32_t child = 1; child < heap.count; child = 2 * at + 1) {
        if (child + 1 < heap.count && heap.keys[child + 1] < heap.keys[child])
            child++;
        if (heap.keys[child] >= key)
            break;
        heap.keys[at] = heap.keys[child];
        at = child;
    }
    heap.keys[at] = key;
    return least;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    heap.count = 0;
    for (uint32_t i = 0; i < COUNT; i++)
        put(keys[i]);
    uint32_t sum = 0;
    while (heap.count > 0)
        sum = 2 * sum + take();
    return sum;
}
