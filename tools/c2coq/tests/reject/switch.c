/* expect: switch 6, syntax 12 */
#include <stdint.h>

static uint32_t f(uint32_t n)
{
    switch (n) {
    case 1:
        return 2;
    default:
        break;
    }
    return n +;
}
