/* When which flood comes: one after the other, at moments since boot that all who take part know without speaking to each other. */
#ifndef FLOOD_SCHEDULE_H
#define FLOOD_SCHEDULE_H

#include <stdint.h>

/* What one guest floods, while the others and a real-time pair are measured. */
enum flood {
    FLOOD_NOTHING, /* the others alone: what they are compared with */
    FLOOD_NETWORK,
    FLOOD_DISK,
    FLOOD_CONSOLE,
    FLOOD_TIMER,
    FLOOD_EXITS,
    FLOOD_IPIS,
    FLOOD_ALL, /* at once */
    FLOODS
};

static const char *const flood_name[FLOODS] = {"nothing", "network", "disk", "console",
                                               "timer",   "exits",   "ipis", "all"};

/* ns since boot: by then all must be ready. A link is made page by page, a turn of the processor for each while the guests that
 * are ready already spin: the last one is ready after 0.11 to 0.6 s, as the programs happen to start. */
#define FLOOD_BEGIN 1000000000ul
#define FLOOD_LONG 100000000ul /* ns */
#define FLOOD_GAP 20000000ul   /* ns: what one flood leaves behind is not the next one's */

static inline uint64_t flood_begin(uint32_t number)
{
    return FLOOD_BEGIN + number * (FLOOD_LONG + FLOOD_GAP);
}

static inline uint64_t flood_end(uint32_t number)
{
    return flood_begin(number) + FLOOD_LONG;
}

#endif
