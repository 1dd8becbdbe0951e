/* expect: extension 6, extension 7, extension 8, extension 10 */
#include <stdint.h>

static void f(uint32_t x)
{
    __asm__ volatile("cli" : : "r"(x) : "memory");
    x = ({ 1; });
    x = __builtin_popcount(x);
}
__attribute__((noinline)) static void g(void)
{
}
