/* expect: prototype 4, prototype 6, prototype 7, prototype 9, prototype 12, prototype 13 */
#include <stdint.h>

static uint32_t f();
static uint32_t g(uint32_t x);
static uint64_t g(uint32_t x) { return 1; }
uint32_t elsewhere(void);
static uint32_t h(uint32_t x) {
    x = g(x, x);
    return x;
}
uint32_t unknown(void) { return 1; }
static uint32_t elsewhere(void) { return 1; }
