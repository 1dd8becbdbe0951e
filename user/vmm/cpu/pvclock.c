/* KVM's clock. The counter's rate never changes and all virtual CPUs have the same, so the structures are written once, when the guest
 * names them, and are the same for all CPUs. */
#include "cpu/pvclock.h"

#include "ashlar/string.h"
#include "bytes.h"
#include "guest.h"

#define NS_PER_S 1000000000ul
#define IN_USE 1ul
#define SYSTEM_BYTES 32u
#define WALL_BYTES 12u
#define FLAG_STABLE 1u /* the same on all CPUs */

static struct {
    uint32_t multiplier;
    int32_t shift;
    uint64_t start; /* ns since 1970 when the guest's counter was 0 */
} clock;

/* The multiplier lies between 2^31 and 2^32. */
void pvclock_scale(uint64_t tsc_khz, uint32_t *multiplier, int32_t *shift)
{
    uint64_t rate = tsc_khz * 1000, second = NS_PER_S;
    *shift = 0;
    while (rate > second * 2) {
        rate >>= 1;
        --*shift;
    }
    while (rate <= second) {
        rate <<= 1;
        ++*shift;
    }
    *multiplier = (uint32_t)((second << 32) / rate);
}

void pvclock_init(uint64_t tsc_khz, uint64_t epoch, uint64_t now)
{
    pvclock_scale(tsc_khz, &clock.multiplier, &clock.shift);
    clock.start = epoch * NS_PER_S + now;
}

uint32_t pvclock_set_wall(uint64_t value)
{
    uint8_t *to = guest_pointer(value, WALL_BYTES);
    if (value % 4 != 0 || to == 0) {
        return 0;
    }
    put(to + 4, clock.start / NS_PER_S, 4);
    put(to + 8, clock.start % NS_PER_S, 4);
    put(to, 2, 4); /* version: even, it is complete */
    return 1;
}

uint32_t pvclock_set_system(uint64_t value, uint64_t tsc_at_start)
{
    uint64_t address = value & ~IN_USE;
    uint8_t *to = guest_pointer(address, SYSTEM_BYTES);
    if ((value & IN_USE) == 0) {
        return 1;
    }
    if (address % 4 != 0 || to == 0) {
        return 0;
    }
    memset(to, 0, SYSTEM_BYTES); /* the time is 0 at the start */
    put(to + 8, tsc_at_start, 8);
    put(to + 24, clock.multiplier, 4);
    to[28] = (uint8_t)clock.shift;
    to[29] = FLAG_STABLE;
    put(to, 2, 4);
    return 1;
}
