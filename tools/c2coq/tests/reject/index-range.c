/* expect: index-range 10, index-range 11, index-range 12 */
#include <stdint.h>

#define SIZE 4u
struct s { uint32_t list[2]; };
static uint32_t words[SIZE];
static struct s table[3];
static uint32_t f(uint32_t i)
{
    words[SIZE] = 1;
    i = table[3].list[0];
    i = table[2].list[2];
    return words[SIZE - 1u] + i;
}
