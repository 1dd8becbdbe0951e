/* Atomic additions to a number that lies across two cache lines, for ever: each stops the other processors for a moment,
 * by a locked bus on a real machine, by a kick out of what they do in an emulator. */
#include <stdint.h>

#define CACHE_LINE 64u

static uint8_t lines[2 * CACHE_LINE] __attribute__((aligned(CACHE_LINE)));

int main(void)
{
    for (;;) {
        __asm__ volatile("lock addl $1, %0" : "+m"(*(uint32_t *)(void *)(lines + CACHE_LINE - 2)) : : "cc");
    }
}
