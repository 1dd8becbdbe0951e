/* expect: pointer 4, type 7, mixed-width 8, goto 10, syntax 11, syntax 12, condition 15, syntax 20, call-in-expression 24 */
#include <stdint.h>

static uint32_t *a;
static uint32_t g(uint32_t x) { return x; }
static uint32_t f(uint32_t x, uint64_t y) {
    int z = 0;
    x = x + y;
    if (x == 1) {
        goto out; }
    x = = 2;
    if x > 3 {
        x = 1;
    }
    x = x > 3;
    return x;
}
static void lost(uint32_t x) {
    if (x) {
        x = 1;

static uint32_t last(uint32_t x)
{
    return g(x);
}
