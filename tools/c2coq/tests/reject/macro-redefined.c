/* expect: macro-redefined 5, macro-redefined 6, macro-redefined 8, macro-redefined 10 */
#include <stdint.h>

#define SIZE 4u
#define SIZE 5u
#undef SIZE
#define WIDTH 4u
static uint32_t WIDTH;
#define WIDTH 4u
static uint32_t f(uint32_t WIDTH) { return 1u; }
