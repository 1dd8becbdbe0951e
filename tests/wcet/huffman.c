/* Huffman codes: the tree of four weights, made by joining the two lightest, and the length of each leaf's code by a
 * climb.
 * Inputs: four weights of a byte. The loops only compare weights and their sums: the cases take all weights from 1 to
 * 5, so balanced and degenerate trees with the leaves in every order. */
#include "program.h"

enum { LEAVES = 4, NODES = 2 * LEAVES - 1 };
uint8_t weights[LEAVES], lengths[LEAVES];

const uint32_t cases = 625;

void prepare(uint32_t number)
{
    for (uint32_t i = 0; i < LEAVES; i++) {
        weights[i] = (uint8_t)(1 + number % 5);
        number /= 5;
    }
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint16_t weight[NODES];
    uint8_t parent[NODES];
    for (uint32_t i = 0; i < LEAVES; i++)
        weight[i] = weights[i];
    for (uint32_t i = 0; i < NODES; i++)
        parent[i] = 0;
    for (uint32_t made = LEAVES; made < NODES; made++) {
        uint32_t low = NODES, next = NODES;
        for (uint32_t i = 0; i < made; i++) {
            if (parent[i] != 0)
                continue;
            if (low == NODES || weight[i] < weight[low]) {
                next = low;
                low = i;
            } else if (next == NODES || weight[i] < weight[next]) {
                next = i;
            }
        }
        if (next == NODES)
            return 0;
        parent[low] = parent[next] = (uint8_t)made;
        weight[made] = (uint16_t)(weight[low] + weight[next]);
    }
    for (uint32_t leaf = 0; leaf < LEAVES; leaf++) {
        uint8_t length = 0;
        for (uint32_t node = leaf; parent[node] != 0; node = parent[node])
            length++;
        lengths[leaf] = length;
    }
    return lengths[0];
}
