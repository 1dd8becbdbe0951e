/* expect: function-pointer 4, function-pointer 8, function-pointer 9 */
#include <stdint.h>

static uint32_t (*handler)(void);
static uint32_t g(void) { return 1; }
static uint32_t f(uint32_t x)
{
    x = g;
    x();
    return x;
}
