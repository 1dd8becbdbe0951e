/* expect: continue 8 */
#include <stdint.h>

static uint32_t f(uint32_t n)
{
    while (n < 8) {
        if (n == 3) {
            continue;
        }
        n++;
    }
    return n;
}
