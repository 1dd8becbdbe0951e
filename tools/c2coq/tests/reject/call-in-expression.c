/* expect: call-in-expression 7, call-in-expression 9, call-in-expression 10, call-in-expression 11, call-in-expression 12, call-in-expression 14 */
#include <stdint.h>

static uint32_t g(uint32_t n) { return n; }
static uint32_t f(uint32_t n)
{
    if (g(n) == 1) {
    }
    n = g(n) + 1;
    n = g(g(n));
    n += g(n);
    while (g(n) != 0) {
    }
    return g(n);
}
static uint32_t h(uint32_t n)
{
    uint32_t m = g(n);
    m = g(m);
    g(m);
    for (m = g(m); m != 0; m = g(m)) {
    }
    return m;
}
