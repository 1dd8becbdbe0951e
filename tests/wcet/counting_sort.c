/* Counting sort of small keys: how often a key stands in the memory bounds a loop.
 * Inputs: eight keys, of which two bits count. The loops see only how often each key stands there: the cases give each
 * key every count from 0 to 8, with the rest of the places to each other key. */
#include "program.h"

enum { COUNT = 8, KEYS = 4 };
uint8_t keys[COUNT];
static uint8_t often[KEYS];

const uint32_t cases = KEYS * KEYS * (COUNT + 1);

void prepare(uint32_t number)
{
    uint32_t many = number % (COUNT + 1);
    for (uint32_t i = 0; i < COUNT; i++)
        keys[i] = (uint8_t)(i < many ? number / (COUNT + 1) % KEYS : number / (COUNT + 1) / KEYS);
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    for (uint32_t key = 0; key < KEYS; key++)
        often[key] = 0;
    for (uint32_t i = 0; i < COUNT; i++)
        often[keys[i] % KEYS]++;
    uint32_t to = 0;
    for (uint32_t key = 0; key < KEYS; key++)
        for (uint32_t i = 0; i < often[key]; i++)
            keys[to++] = (uint8_t)key;
    return to;
}
