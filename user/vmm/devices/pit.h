/* The 8254 interval timer: channel 0 gives the timer interrupt, channel 2 the speaker and Linux' calibration.
 * Pure state: the caller passes the time. Because the caller's clock is derived from the same TSC that the guest
 * reads, the guest's calibration comes out right however often its virtual CPU is preempted. */
#ifndef VMM_PIT_H
#define VMM_PIT_H

#include <stdint.h>

#define PIT_HZ 1193182u
#define PIT_NEVER (~0ul)

struct pit_channel {
    uint32_t mode;   /* 0..5 */
    uint32_t access; /* 1 low, 2 high, 3 low then high */
    uint32_t reload; /* 1..65536 */
    uint32_t armed;  /* a count was written since the mode was set */
    uint32_t gate;
    uint32_t write_high; /* next byte written is the high one */
    uint32_t write_low;  /* low byte that waits for it */
    uint32_t read_high;
    uint32_t latched; /* counter value is latched: 1 */
    uint32_t latch;
    uint32_t status_latched;
    uint32_t status;
    uint64_t start; /* ns when the count was loaded */
};

struct pit {
    struct pit_channel channel[3];
    uint64_t next;    /* ns of channel 0's next rising edge, PIT_NEVER if none comes */
    uint32_t speaker; /* bit 1 of port 0x61 */
    uint32_t refresh; /* toggles at each read of port 0x61 */
};

void pit_init(struct pit *pit);
/* Ports 0x40..0x43 and 0x61. `now` in ns. */
uint32_t pit_read(struct pit *pit, uint32_t port, uint64_t now);
void pit_write(struct pit *pit, uint32_t port, uint32_t value, uint64_t now);
/* Has channel 0's output risen by `now`? Then 1, and `next` moves to the first edge after `now`: edges that were
 * missed while the guest did not run are merged into one. */
uint32_t pit_expire(struct pit *pit, uint64_t now);

#endif
