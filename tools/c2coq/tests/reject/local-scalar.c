/* expect: local-scalar 7, local-scalar 8, local-scalar 9 */
#include <stdint.h>

struct s { uint32_t a; };
static uint32_t f(uint32_t n)
{
    uint32_t list[4] = {0};
    struct s one = {0};
    static uint32_t count = 0;
    list[n] = one.a;
    return n + count;
}
