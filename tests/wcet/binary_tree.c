/* A search tree in arrays: each key is put in, then each is looked for.
 * Inputs: five keys; the loops only compare them. Cases: all 5! orders; an equal key goes right like a greater one. */
#include "program.h"

enum { COUNT = 5, NONE = 0 };
uint8_t keys[COUNT];
static uint8_t child[COUNT][2];

const uint32_t cases = 121;

void prepare(uint32_t number)
{
    order(number, COUNT, keys);
    if (number == 120)
        for (uint32_t i = 0; i < COUNT; i++)
            keys[i] = 3;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t depth = 0;
    for (uint32_t i = 0; i < COUNT; i++)
        child[i][0] = child[i][1] = NONE;
    for (uint8_t node = 1; node < COUNT; node++) {
        uint8_t at = 0;
        for (;;) {
            uint8_t *link = &child[at][keys[node] >= keys[at]];
            if (*link == NONE) {
                *link = node;
                break;
            }
            at = *link;
        }
    }
    for (uint32_t wanted = 0; wanted < COUNT; wanted++) {
        uint8_t at = 0;
        while (keys[at] != wanted) {
            at = child[at][wanted > keys[at]];
            if (at == NONE)
                break;
            depth++;
        }
    }
    return depth;
}
