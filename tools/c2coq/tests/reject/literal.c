/* expect: literal 6, literal 7, literal 8, literal 9, literal 10, literal 11, literal 12, literal 13, literal 15 */
#include <stdint.h>

static uint64_t f(uint64_t x, uint32_t y)
{
    x = 1 << y;
    x = -1;
    x = ~0;
    x = 4294967296;
    x = 5l;
    y = 2147483647 + 1;
    y = 1.5;
    y = 4294967296u;
    y = 'a';
    y = 'ab';
    return x + 0x7fffffff + 'a' + 010;
}
