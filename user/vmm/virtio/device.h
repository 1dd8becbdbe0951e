/* One virtio device behind registers in memory (virtio 1.2, section 4.2, version 2): negotiation, one queue, the interrupt
 * line. What the device does with a request is given by `serve` of its kind. Pure state: no system calls. */
#ifndef VMM_DEVICE_H
#define VMM_DEVICE_H

#include <stdint.h>

#include "virtio/queue.h"

#define VIRTIO_ADDRESS 0xfeb00000ul /* guest-physical, above all memory */
#define VIRTIO_SIZE 0x200ul
#define VIRTIO_IRQ 5u

struct virtio {
    uint32_t present; /* else the registers read as those of no device */
    uint32_t status;
    uint32_t device_half, driver_half; /* which 32 feature bits the registers show */
    uint64_t accepted;                 /* features that the driver took */
    uint32_t selected;                 /* queue that the registers show */
    uint32_t interrupts;               /* causes; the line is up while there are any */
    struct queue queue;
};

/* As after power-on. */
void virtio_init(struct virtio *device, uint32_t present);
/* The register at `offset`, below VIRTIO_SIZE. Registers are 4 bytes wide and aligned; elsewhere is nothing. */
uint32_t virtio_read(const struct virtio *device, uint32_t offset);
void virtio_write(struct virtio *device, uint32_t offset, uint32_t value);

#endif
