/* expect: implicit-conversion 9, implicit-conversion 10, implicit-conversion 11, implicit-conversion 12, implicit-conversion 13, implicit-conversion 14 */
#include <stdint.h>

static uint32_t f2(void) { return 1u; }
static void g(uint64_t y);
static uint8_t small[2];
static uint32_t f(uint32_t x, uint64_t y)
{
    x = y;
    small[0] = x;
    g(x);
    uint64_t z = x;
    z = f2();
    return z;
}
static void g(uint64_t y) { small[0] = (uint8_t)y; }
