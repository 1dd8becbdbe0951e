/* expect: return 4, return 5, return 6 */
#include <stdint.h>

static void f(void) { return 1; }
static uint32_t g(void) { return; }
static void h(uint32_t i) { i = f(); }
