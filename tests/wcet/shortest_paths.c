/* Shortest paths between four places, by relaxation over edges until nothing changes, at most once for each place.
 * Inputs: the lengths of six edges, a byte each. Cases: rising, falling and mixed lengths; the falling chain takes all
 * rounds. */
#include "program.h"

enum { PLACES = 5, EDGES = 6, FAR = 0xffff };
static const struct {
    uint8_t from, to;
} edges[EDGES] = {{3, 4}, {2, 3}, {1, 2}, {0, 1}, {0, 3}, {1, 4}};
uint8_t lengths[EDGES];
static uint16_t distances[PLACES];

const uint32_t cases = 64;

void prepare(uint32_t number)
{
    for (uint32_t i = 0; i < EDGES; i++)
        lengths[i] = number >> i & 1 ? 200 : 1;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    for (uint32_t i = 0; i < PLACES; i++)
        distances[i] = i == 0 ? 0 : FAR;
    for (uint32_t round = 0; round < PLACES; round++) {
        uint32_t changed = 0;
        for (uint32_t i = 0; i < EDGES; i++) {
            uint32_t through = distances[edges[i].from] + lengths[i];
            if (through < distances[edges[i].to]) {
                distances[edges[i].to] = (uint16_t)through;
                changed = 1;
            }
        }
        if (!changed)
            break;
    }
    return distances[PLACES - 1];
}
