/* expect: goto 6, goto 8 */
#include <stdint.h>

static uint32_t f(uint32_t n)
{
    goto out;
    n = 1;
out:
    return n;
}
