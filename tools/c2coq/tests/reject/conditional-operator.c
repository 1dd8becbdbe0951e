/* expect: conditional-operator 6 */
#include <stdint.h>

static uint32_t f(uint32_t n)
{
    n = n < 2 ? n : 2;
    return n;
}
