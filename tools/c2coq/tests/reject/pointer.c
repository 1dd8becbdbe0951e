/* expect: pointer 4, pointer 6, pointer 8, pointer 10 */
#include <stdint.h>

static uint32_t *table[4];

static void f(uint32_t *p)
{
    uint64_t *q = 0;
}
static void *g(void)
{
    return 0;
}
