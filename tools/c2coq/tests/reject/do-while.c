/* expect: do-while 6 */
#include <stdint.h>

static uint32_t f(uint32_t n)
{
    do {
        n++;
    } while (n < 4);
    return n;
}
