/* A sorted list in arrays: each key is put in its place, then the list is walked.
 * Inputs: six keys; the loops only compare them. Cases: all 6! orders. */
#include "program.h"

enum { COUNT = 6, NONE = 0xff };
uint8_t keys[COUNT];
static uint8_t next[COUNT];

const uint32_t cases = 720;

void prepare(uint32_t number)
{
    order(number, COUNT, keys);
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint8_t head = NONE;
    for (uint8_t node = 0; node < COUNT; node++) {
        uint8_t before = NONE, at = head;
        while (at != NONE && keys[at] < keys[node]) {
            before = at;
            at = next[at];
        }
        next[node] = at;
        if (before == NONE)
            head = node;
        else
            next[before] = node;
    }
    uint32_t length = 0;
    for (uint8_t at = head; at != NONE; at = next[at])
        length++;
    return length;
}
