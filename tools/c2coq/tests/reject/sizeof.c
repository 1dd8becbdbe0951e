/* expect: sizeof 5, sizeof 5 */
#include <stdint.h>

static uint64_t table[3];
static uint64_t f(void) { uint64_t n = sizeof table / sizeof(table[0]); return n; }
