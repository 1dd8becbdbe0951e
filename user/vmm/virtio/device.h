/* A virtio device behind registers in memory (virtio 1.2, section 4.2, version 2): negotiation, one queue, the interrupt line.
 * What it does with a request, and what its configuration space holds, is its kind's. Pure state: no system calls. */
#ifndef VMM_DEVICE_H
#define VMM_DEVICE_H

#include <stdint.h>

#include "virtio/queue.h"

#define VIRTIO_SIZE 0x200ul
#define VIRTIO_NONE 0u /* kind: the registers read as those of no device */

struct virtio {
    uint32_t kind; /* its number among virtio devices: ENTROPY_DEVICE, BLOCK_DEVICE */
    uint32_t status;
    uint32_t device_half, driver_half; /* which 32 feature bits the registers show */
    uint64_t accepted;                 /* features that the driver took */
    uint32_t selected;                 /* queue that the registers show */
    uint32_t interrupts;               /* causes; the line is up while there are any */
    struct queue queue;
};

/* As after power-on. */
void virtio_init(struct virtio *device, uint32_t kind);
/* The register at `offset`, below VIRTIO_SIZE. Registers are 4 bytes wide and aligned, the configuration space behind them is read
 * in any pieces; elsewhere is nothing. */
uint64_t virtio_read(const struct virtio *device, uint32_t offset);
void virtio_write(struct virtio *device, uint32_t offset, uint32_t value);

/* ---- what a kind calls that answers later ---- */

/* The request is done, with `written` bytes in its chain. virtio_resume() is to follow. */
void virtio_answer(struct virtio *device, const struct chain *chain, uint32_t written);
/* Takes requests that have waited for room, and raises the interrupt if the driver wants one for what was answered. */
void virtio_resume(struct virtio *device);
/* The configuration space has changed. */
void virtio_configuration_changed(struct virtio *device);

#endif
