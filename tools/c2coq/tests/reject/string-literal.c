/* expect: string-literal 4 */
#include <stdint.h>

static uint32_t f(uint32_t i) { i = "text"; return i; }
