/* expect: undeclared 6, undeclared 7, undeclared 8 */
#include <stdint.h>

static uint32_t f(uint32_t i)
{
    i = missing;
    absent(i);
    i = table[i].field;
    return i + missing;
}
