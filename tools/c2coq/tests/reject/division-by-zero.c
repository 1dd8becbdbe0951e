/* expect: division-by-zero 7, division-by-zero 8, division-by-zero 9 */
#include <stdint.h>

#define ZERO 0u
static uint32_t f(uint32_t x)
{
    x = x / 0;
    x = x % ZERO;
    x = x << 32;
    x = x << 31;
    return x;
}
