/* expect: comma 6, comma 7 */
#include <stdint.h>

static uint32_t f(uint32_t n)
{
    n = 1, n = 2;
    for (uint32_t i = 0; i < 4; i++, n++) {
    }
    return n;
}
