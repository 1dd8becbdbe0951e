/* expect: narrow-arithmetic 7, narrow-arithmetic 8, narrow-arithmetic 11, narrow-arithmetic 13, narrow-arithmetic 15 */
#include <stdint.h>

static uint8_t bytes[4];
static uint32_t f(uint32_t i, uint8_t j)
{
    uint8_t x = bytes[i] + 1;
    x |= 2;
    x = bytes[i];
    uint32_t y = (uint32_t)bytes[i] + 1;
    if (bytes[i] == 3) {
    }
    if (j) {
    }
    bytes[j] = 0;
    return y;
}
