/* expect: mixed-width 6, mixed-width 7, mixed-width 8, mixed-width 10 */
#include <stdint.h>

static uint64_t f(uint32_t x, uint64_t y)
{
    y = x + y;
    y += x;
    if (x < y) {
    }
    y = x * 1ul;
    y = y << x;
    y = y + 7u;
    y = y + (uint64_t)x;
    return y;
}
