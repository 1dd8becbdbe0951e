/* expect: qualifier 4, qualifier 5, prototype 5, qualifier 6 */
#include <stdint.h>

static volatile uint32_t flag;
inline uint32_t f(void) { return 1; }
static uint32_t g(register uint32_t x) { return x; }
static const uint8_t table[2] = {1, 2};
static inline uint32_t h(void) { return 1; }
