/* Bubble sort that stops after a pass without an exchange.
 * Inputs: six keys; the loops only compare them. Cases: all 6! orders; the falling one takes all passes. */
#include "program.h"

enum { COUNT = 6 };
int32_t keys[COUNT];

const uint32_t cases = 720;

void prepare(uint32_t number)
{
    uint8_t numbers[COUNT];
    order(number, COUNT, numbers);
    for (uint32_t i = 0; i < COUNT; i++)
        keys[i] = numbers[i] - 2;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t exchanged = 1;
    for (uint32_t end = COUNT - 1; end > 0 && exchanged; end--) {
        exchanged = 0;
        for (uint32_t i = 0; i < end; i++) {
            if (keys[i] > keys[i + 1]) {
                int32_t key = keys[i];
                keys[i] = keys[i + 1];
                keys[i + 1] = key;
                exchanged = 1;
            }
        }
    }
    return exchanged;
}
