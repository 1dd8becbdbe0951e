/* expect: address-of 8 */
#include <stdint.h>

static uint64_t g(uint64_t x) { return x; }
static uint64_t words[4];
static void set(void)
{
    words[1] = g(&words[0]);
}
