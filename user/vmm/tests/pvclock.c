/* Host test of KVM's clock: what a guest computes from the structure is the time. */
#define GUEST_BASE ((uint64_t)memory)
static unsigned char memory[4096];

#include "../cpu/pvclock.c"

#include <string.h>

#include "../../libc/tests/check.h"

uint64_t guest_size = sizeof memory;

/* As Linux does it. */
static uint64_t guest_time(const uint8_t *at, uint64_t tsc)
{
    uint64_t delta = tsc - get(at + 8, 8);
    int8_t shift = (int8_t)at[28];
    delta = shift < 0 ? delta >> -shift : delta << shift;
    return (uint64_t)((unsigned __int128)delta * get(at + 24, 4) >> 32) + get(at + 16, 8);
}

static void tells_the_time(uint64_t khz)
{
    uint64_t seconds = 3600;
    pvclock_init(khz, 1000, 2500000000ul);
    CHECK(pvclock_set_system(0x41, 77));
    CHECK((get(memory + 0x40, 4) & 1) == 0 && memory[0x40 + 29] == 1);
    uint64_t told = guest_time(memory + 0x40, 77 + khz * 1000 * seconds), right = seconds * NS_PER_S;
    CHECK(told < right + seconds * 2 && right < told + seconds * 2); /* 2 ns a second */
}

int main(void)
{
    static const uint64_t rates[] = {999999, 1000000, 1000001, 2000000, 2000001, 2445410, 4200000, 100000, 64000001};
    for (uint32_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        tells_the_time(rates[i]);
    }
    CHECK(pvclock_set_wall(0x100) && get(memory + 0x104, 4) == 1002 && get(memory + 0x108, 4) == 500000000);
    CHECK(pvclock_set_system(0x40, 0)); /* out of use: anything may stand there */
    CHECK(pvclock_set_system(4096 - 31 + 1, 0) == 1 && pvclock_set_system(4097, 0) == 0);
    CHECK(pvclock_set_system(0x43, 0) == 0 && pvclock_set_system(~0ul, 0) == 0);
    CHECK(pvclock_set_wall(0x102) == 0 && pvclock_set_wall(4096 - 8) == 0 && pvclock_set_wall(~0ul - 3) == 0);
    return 0;
}
