/* The page between plant and office. The plant alone writes it; it counts `begun` before it writes a reading and `done` after, so
 * that the office sees whether a reading was changed while it was read. */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

#define NUM_VALUE 4u

struct board {
    uint64_t begun; /* readings that the plant has begun to write */
    uint64_t value[NUM_VALUE];
    uint64_t done; /* ... and has written */
};

/* What the plant measures: a number that office and tests can recompute. There are no sensors in the emulator. */
static inline uint64_t measured(uint64_t reading, uint32_t index)
{
    return reading * 1000 + index;
}

#endif
