/* expect: syntax 6, syntax 11, syntax 13, syntax 14, syntax 18, syntax 23 */
#include <stdint.h>

static uint32_t f(uint32_t x)
{
    x = x +;
    return x;
}
static uint32_t g(uint32_t x)
{
    return x
}
static uint32_t (uint32_t y) { return y; }
static static uint32_t twice(uint32_t x, uint32_t y)
{
    if (x) {
        uint32_t z = 0;
        z = twice(x, y, );
    }
    return x;
}
struct comma {
    uint32_t first, ;
    uint32_t last;
};
