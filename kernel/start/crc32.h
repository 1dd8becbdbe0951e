#ifndef ASHLAR_CRC32_H
#define ASHLAR_CRC32_H

#include <stdint.h>

/* IEEE CRC-32 of `count` bytes after those that gave `crc`; start with 0. */
uint32_t crc32(uint32_t crc, const uint8_t *bytes, uint64_t count);

#endif
