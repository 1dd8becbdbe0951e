/* expect: missing-return 9, missing-return 16 */
#include <stdint.h>

static uint32_t f(uint32_t i)
{
    if (i == 1) {
        return 1;
    }
}
static uint32_t g(uint32_t i)
{
    while (1) {
        if (i == 1) {
            break; }
    }
}
static uint32_t h(uint32_t i)
{
    while (1) {
        if (i == 1) {
            return 1; }
        i++;
    }
}
static uint32_t k(uint32_t i)
{
    if (i == 1) {
        return 1;
    } else {
        return 2;
    }
}
