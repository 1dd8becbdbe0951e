/* Dies at once: writes to a page that is not there. */
#include <stdint.h>

int main(void)
{
    *(volatile uint64_t *)0x77770000ul = 1;
    return 0;
}
