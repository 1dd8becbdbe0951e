/* Makes a program of the suite one of which `entry` is bounded and run: its one case is `main`. */
#include "program.h"

int main(void);

const uint32_t cases = 1;

/* Memory behind the data of the suite's program, as loaders give it by pages: `epic` stores beyond its last array. */
uint8_t behind[4096];

void prepare(uint32_t number)
{
    (void)number;
}

uint32_t ENTRY entry(uint32_t first, uint32_t second)
{
    (void)first;
    (void)second;
#ifdef __x86_64__
    /* Callers leave the direction of string instructions so, which the binary does not say. */
    __asm__ volatile("cld");
#endif
    return (uint32_t)main();
}

#ifdef __arm__
/* Where the division of libgcc goes for a divisor of 0, of 64 bits. */
int64_t __aeabi_ldiv0(int64_t value)
{
    return value;
}
#endif
