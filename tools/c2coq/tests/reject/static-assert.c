/* expect: static-assert 6, static-assert 8 */
#include <stdint.h>

#define SIZE 4u
static uint32_t word;
_Static_assert(SIZE == 5, "five");
_Static_assert(SIZE == 4u && SIZE < 5, "four");
_Static_assert(word == 4u, "no constant");
