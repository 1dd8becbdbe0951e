/* expect: type 4, type 5, type 7, type 9 */
#include <stdint.h>

static uint32_t f(int x)
{   unsigned long y = 1;
    x = 1;
    for (long i = 0; i < 4; i++) {
    }
    bool b = 0;
    return b;
}
