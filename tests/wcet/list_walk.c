/* Lists in memory that someone else wrote, walked with a limit: by nodes and by counted steps back.
 * Inputs: the links. Cases: chains that end after every number of nodes, and one that goes in a circle, which only the
 * limit ends. */
#include "program.h"

enum { COUNT = 12, LIMIT = 20 };
struct node {
    struct node *next;
    uint32_t value;
};
struct node nodes[COUNT];
struct node *list;

const uint32_t cases = COUNT + 2;

void prepare(uint32_t number)
{
    for (uint32_t i = 0; i < COUNT; i++)
        nodes[i] = (struct node){.next = i + 1 < number ? &nodes[(i + 1) % COUNT] : 0, .value = i};
    list = number > 0 ? nodes : 0;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t left = LIMIT, sum = 0;
    for (struct node *node = list; node && left > 0; node = node->next, left--)
        sum += node->value;
    for (uint32_t back = left; back < LIMIT; back += 4)
        sum ^= back;
    return sum;
}
