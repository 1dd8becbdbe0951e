/* What a thread has run, added up from its looks at the clock. A step of the clock longer than METER_GAP_NS is a gap in
 * which other threads ran; those that run beside a meter run longer than that at a time. */
#ifndef METER_H
#define METER_H

#include "ashlar/syscall.h"

#define METER_GAP_NS 20000ul

struct meter {
    uint64_t last; /* look */
    uint64_t ran;
};

/* What comes before the first look does not count. */
static inline struct meter meter_start(void)
{
    return (struct meter){.last = sys_clock()};
}

/* Returns the time. */
static inline uint64_t meter_look(struct meter *meter)
{
    uint64_t now = sys_clock();
    if (now - meter->last < METER_GAP_NS) {
        meter->ran += now - meter->last;
    }
    meter->last = now;
    return now;
}

/* From now on: what passed since the last look does not count. */
static inline void meter_skip(struct meter *meter)
{
    meter->last = sys_clock();
}

#endif
