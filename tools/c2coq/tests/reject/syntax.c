/* expect: syntax 6, syntax 11 */
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
