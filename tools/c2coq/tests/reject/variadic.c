/* expect: variadic 4 */
#include <stdint.h>

static uint32_t f(uint32_t n, ...) { return n; }
