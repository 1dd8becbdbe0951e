/* expect: place 10, place 10, place 11, place 12, place 13, place 14, place 15, place 16, place 21 */
#include <stdint.h>

#define SIZE 4u
struct pair { uint32_t a; uint32_t list[2]; };
static struct pair pairs[4];
static uint32_t words[4];
static uint32_t f(uint32_t i)
{
    pairs[0] = pairs[1];
    words = 1;
    i = words[i][0] + 1;
    i[0] = 1;
    i = pairs[i].a[1];
    5 = i;
    SIZE[0] = 1;
    return pairs[i].list[1];
}
static void constant(const uint32_t x)
{
    x = 1;
}
