/* Little-endian numbers in byte arrays. */
#ifndef VMM_BYTES_H
#define VMM_BYTES_H

#include <stdint.h>

static inline uint64_t get(const uint8_t *from, uint32_t bytes)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < bytes; i++) {
        value |= (uint64_t)from[i] << (8 * i);
    }
    return value;
}

static inline void put(uint8_t *to, uint64_t value, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        to[i] = (uint8_t)(value >> (8 * i));
    }
}

#endif
