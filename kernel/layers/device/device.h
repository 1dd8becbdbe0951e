/* Device resources: windows of device registers and ranges of I/O ports, and the process that owns each. Written by
 * start-up, constant afterwards: no lock. */
#ifndef ASHLAR_DEVICE_H
#define ASHLAR_DEVICE_H

#include <stdint.h>

#include "config.h"

/* Requires: start-up, one CPU. Ensures: no device is defined. */
void device_init(void);

/* Requires: start-up; d < NUM_DEVICE; kind GRANT_MMIO (base and size multiples of 4096, the frames are reserved) or
 * GRANT_PORT (base + size <= 65536); owner is the only process with a grant for it. */
void device_define(uint32_t d, uint32_t kind, uint64_t base, uint64_t size, uint32_t owner);
uint32_t device_owner(uint32_t d); /* NONE if d is not defined */

/* The frame of page number `page` of window d; NONE if d is not a window or the page lies beyond its end. */
uint32_t device_frame(uint32_t d, uint64_t page);

/* The port for an access of `width` bytes (1, 2, 4) at `offset` of range d; NONE if d is not a port range or the
 * access is not wholly inside it. */
uint32_t device_port(uint32_t d, uint64_t offset, uint64_t width);

uint32_t device_check(void);

#endif
