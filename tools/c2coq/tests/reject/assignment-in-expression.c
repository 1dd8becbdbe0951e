/* expect: assignment-in-expression 7, assignment-in-expression 8, assignment-in-expression 9, assignment-in-expression 11 */
#include <stdint.h>

static uint32_t ring[4];
static uint32_t f(uint32_t n, uint32_t m)
{
    n = m = 2;
    ring[n++] = 1;
    if ((n = m) != 0) {
    }
    n = m + (m += 1);
    n++;
    --m;
    n <<= 2;
    return n;
}
