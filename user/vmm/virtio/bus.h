/* Where the virtio devices of a guest are: a stretch of guest-physical addresses and an interrupt line each. */
#ifndef VMM_BUS_H
#define VMM_BUS_H

#include <stdint.h>

#include "virtio/device.h"

/* A place without a device is announced too, and its registers say that there is none. */
#define BUS_DEVICES 3u
#define BUS_ENTROPY 0u
#define BUS_BLOCK 1u
#define BUS_NIC 2u
#define BUS_ADDRESS 0xfeb00000ul /* guest-physical, above all memory */
#define BUS_STEP 0x1000ul

struct bus {
    struct virtio device[BUS_DEVICES];
};

/* The interrupt line of a place. */
static inline uint32_t bus_line(uint32_t place)
{
    static const uint32_t line[BUS_DEVICES] = {[BUS_ENTROPY] = 5, [BUS_BLOCK] = 10, [BUS_NIC] = 11};
    return line[place];
}
/* All devices as after power-on. */
void bus_reset(void);
/* Is a register of some device at the address? */
uint32_t bus_has(uint64_t address);
/* Requires: bus_has(). */
uint64_t bus_read(uint64_t address);
void bus_write(uint64_t address, uint32_t value);
/* Disk or network have answered: on with what has waited, and the interrupts. */
void bus_resume(void);

#endif
