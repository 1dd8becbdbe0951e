/* expect: pointer 4, dereference 6, dereference 7, dereference 8 */
#include <stdint.h>

static void f(uint32_t *p, uint32_t x)
{
    x = *p;
    *p = x;
    x = p->field + 1;
}
