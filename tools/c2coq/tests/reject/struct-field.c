/* expect: struct-field 5, struct-field 6 */
#include <stdint.h>

struct link { uint32_t next; };
struct node { struct link link;
    uint32_t grid[4][4]; };
static struct node nodes[2];
