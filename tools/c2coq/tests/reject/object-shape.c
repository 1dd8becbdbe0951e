/* expect: object-shape 5, object-shape 6, object-shape 7 */
#include <stdint.h>

struct state { uint32_t a; };
static struct state state;
static struct state table[2][2];
static uint32_t cube[2][2][2];
static struct state list[1];
static uint32_t square[2][2];
static uint64_t word;
