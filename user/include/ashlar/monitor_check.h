/* What the steps of single messages are made of, which `protocol generate` writes. With constants in the place of the parameters
 * little is left of each. */
#ifndef ASHLAR_MONITOR_CHECK_H
#define ASHLAR_MONITOR_CHECK_H

#include "ashlar/monitor.h"

#define MONITOR_INLINE static inline __attribute__((always_inline))
/* What is seldom true, so that the code for it is out of the way. */
#define MONITOR_SELDOM(condition) __builtin_expect((condition), 0)

/* A number of 1, 2, 4 or 8 bytes, wherever it stands. */
MONITOR_INLINE uint64_t monitor_element(const uint8_t *bytes, uint32_t count)
{
    uint16_t two;
    uint32_t four;
    uint64_t eight;

    switch (count) {
    case 1:
        return bytes[0];
    case 2:
        __builtin_memcpy(&two, bytes, sizeof two);
        return two;
    case 4:
        __builtin_memcpy(&four, bytes, sizeof four);
        return four;
    default:
        __builtin_memcpy(&eight, bytes, sizeof eight);
        return eight;
    }
}

/* Whether each of `count` elements is in its range. */
MONITOR_INLINE int monitor_in_range(const void *payload, uint32_t offset, uint32_t bytes, uint32_t count,
                                    uint64_t least, uint64_t most)
{
    for (uint32_t i = 0; i < count; i++) {
        if (monitor_element((const uint8_t *)payload + offset + i * bytes, bytes) - least > most - least) {
            return 0;
        }
    }
    return 1;
}

/* Opens, closes or finds the request that the cookie names, of those whose bits begin at word `first`; 0 if that cannot be. */
MONITOR_INLINE int monitor_request(const struct monitor *monitor, uint32_t first, uint64_t limit, uint32_t what,
                                   uint64_t cookie)
{
    if (cookie >= limit) {
        return 0;
    }
    uint64_t *word = &monitor->open[first + (limit > 64 ? cookie / 64 : 0)];
    uint64_t open = *word;
    uint8_t was_open;
    if (what == MONITOR_NAMES) {
        return (open >> (cookie % 64) & 1) != 0;
    }
    /* The compiler takes five instructions for what one does: to change bit `cookie % 64` and to say what it was. */
    if (what == MONITOR_OPENS) {
        __asm__("bts %2, %0" : "+r"(open), "=@ccc"(was_open) : "r"(cookie));
    } else {
        __asm__("btr %2, %0" : "+r"(open), "=@ccc"(was_open) : "r"(cookie));
    }
    if (was_open == (what == MONITOR_OPENS)) {
        return 0;
    }
    *word = open;
    return 1;
}

/* Whether no request is open whose bits are in these words. */
MONITOR_INLINE int monitor_is_drained(const struct monitor *monitor, uint32_t first, uint32_t words)
{
    for (uint32_t i = 0; i < words; i++) {
        if (monitor->open[first + i] != 0) {
            return 0;
        }
    }
    return 1;
}

/* Ends all requests whose bits are in these words. */
MONITOR_INLINE void monitor_drop(const struct monitor *monitor, uint32_t first, uint32_t words)
{
    for (uint32_t i = 0; i < words; i++) {
        monitor->open[first + i] = 0;
    }
}

#endif
