/* expect: condition 7, condition 8, condition 9, condition 10, condition 12 */
#include <stdint.h>

static void g(uint32_t x) { if (x) { return; } }
static uint32_t f(uint32_t x, uint32_t y)
{
    x = y == 2;
    x = !y;
    x = x && y;
    y = y + (x < 4);
    g(
        x > 3);
    while (!(x < 4) && (y == 1 || x)) {
        x = x >> 1;
    }
    return x;
}
