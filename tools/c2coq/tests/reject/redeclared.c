/* expect: redeclared 5, redeclared 8, redeclared 11, redeclared 12, redeclared 14 */
#include <stdint.h>

static uint32_t a;
static uint64_t a;
static uint32_t f(void)
{
    uint32_t x = 1; uint64_t x = 2;
    return 1;
}
static uint32_t f(void) { return 2; }
static uint32_t hide(uint32_t a)
{
    uint32_t hide = 1;
    return hide + 1;
}
