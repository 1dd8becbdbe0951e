/* expect: statement 6, statement 7, statement 8, statement 9 */
#include <stdint.h>

static uint32_t f(uint32_t x)
{
    x + 1;
    x;
    break;
    _Static_assert(1 == 1, "inside");
    return x;
}
