/* expect: local-initialised 6 */
#include <stdint.h>

static uint32_t f(void)
{
    uint32_t n;
    n = 1;
    return n;
}
