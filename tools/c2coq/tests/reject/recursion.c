/* expect: recursion 7, recursion 19 */
#include <stdint.h>

static void other(uint32_t n);
static void direct(uint32_t n)
{
    direct(n);
}
static void even(uint32_t n)
{
    other(n);
}
static void leaf(void)
{
}
static void other(uint32_t n)
{
    leaf();
    even(n);
}
