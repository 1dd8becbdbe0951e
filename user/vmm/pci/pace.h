/* The pace of a device's interrupts. A line that stays raised interrupts again as soon as it is opened, and a guest that serves it in
 * vain comes to nothing else, not even to what would lower it. So after some interrupts one upon the other the line stays closed
 * for as long as they took: half of the time remains to the guest. */
#ifndef VMM_PACE_H
#define VMM_PACE_H

#include <stdint.h>

#define PACE_ROW 16u /* interrupts one upon the other */

struct pace {
    uint32_t row;    /* interrupts so far */
    uint64_t since;  /* when the first of them came */
    uint64_t raised; /* when the last one came */
    uint64_t served; /* how long the one before took */
    uint64_t opened; /* when the line was opened after it */
};

/* An interrupt has come. Times are nanoseconds of one clock. It is upon the one before if the guest had less time between them than
 * that one took. */
void pace_raise(struct pace *pace, uint64_t now);
/* It is served. Returns when the line may be opened: now, or later. */
uint64_t pace_serve(struct pace *pace, uint64_t now);

#endif
