/* expect: cast 6, cast 7, cast 8, cast 9 */
#include <stdint.h>

static uint32_t f(uint64_t x)
{
    x = (uint64_t)(uint8_t)x + (uint64_t)(int)x;
    x = (uint64_t)(uint64_t *)x;
    (void)x;
    x = (struct s)x;
    return (uint32_t)x;
}
