/* expect: function-macro 4 */
#include <stdint.h>

#define MIN(a, b) ((a) < (b) ? (a) : (b))
static uint32_t f(uint32_t i) { return MIN(i, 2u); }
