/* expect: redeclared 5, redeclared 8, redeclared 11 */
#include <stdint.h>

static uint32_t a;
static uint64_t a;
static uint32_t f(void)
{
    uint32_t x = 1; uint64_t x = 2;
    return 1;
}
static uint32_t f(void) { return 2; }
