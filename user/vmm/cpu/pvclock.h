/* KVM's clock, as its guests know it: by two model-specific registers the guest names a structure in its memory, and finds there
 * what its time-stamp counter counts, in nanoseconds since it was started, and when that was. It then measures no rate, and reads no
 * device. */
#ifndef VMM_PVCLOCK_H
#define VMM_PVCLOCK_H

#include <stdint.h>

#define PVCLOCK_MSR_WALL 0x4b564d00u
#define PVCLOCK_MSR_SYSTEM 0x4b564d01u

/* Before each start of the guest. `tsc_khz`: rate of the guest's counter; `epoch`: seconds since 1970 when the
 * monitor's clock was 0; `now`: that clock. */
void pvclock_init(uint64_t tsc_khz, uint64_t epoch, uint64_t now);
/* The registers. Return 0 if the value is refused. `tsc_at_start`: what the counter of this CPU was at the start, 0 unless the
 * guest has set it. */
uint32_t pvclock_set_wall(uint64_t value);
uint32_t pvclock_set_system(uint64_t value, uint64_t tsc_at_start);
/* Nanoseconds = (counter shifted by `shift`) * `multiplier` / 2^32: to the left, or to the right if it is negative. */
void pvclock_scale(uint64_t tsc_khz, uint32_t *multiplier, int32_t *shift);

#endif
