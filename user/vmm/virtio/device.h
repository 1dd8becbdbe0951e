/* A virtio device behind registers in memory (virtio 1.2, section 4.2, version 2): negotiation, its queues, the interrupt line.
 * What it does with a request, and what its configuration space holds, is its kind's. Pure state: no system calls. */
#ifndef VMM_DEVICE_H
#define VMM_DEVICE_H

#include <stdint.h>

#include "virtio/queue.h"

#define VIRTIO_SIZE 0x200ul
#define VIRTIO_QUEUES 2u /* of a device, at most */

/* What became of a request. */
enum virtio_answer {
    VIRTIO_LATER,    /* the kind has it; it will call virtio_answer() */
    VIRTIO_ANSWERED, /* `written` bytes are in the chain */
    VIRTIO_MALFORMED /* it cannot be answered: the device needs a reset */
};

/* What differs from device to device. What is null is not there, or never changes. */
struct virtio_kind {
    uint32_t number; /* among virtio devices */
    uint32_t queues; /* those below */
    uint64_t features;
    /* Can a further request of the queue be taken? Null: always. */
    uint32_t (*has_room)(uint32_t queue);
    /* Begins a request. Requires: has_room(). */
    enum virtio_answer (*begin)(uint32_t queue, const struct chain *chain, uint32_t *written);
    /* The driver has reset the device or the queue: what is under way there must not be answered. */
    void (*forget)(uint32_t queue);
    /* The configuration space from `offset` on, and how often it has changed. */
    uint64_t (*configuration)(uint32_t offset);
    uint32_t (*generation)(void);
};

struct virtio {
    const struct virtio_kind *kind; /* null: the registers read as those of no device */
    uint32_t status;
    uint32_t device_half, driver_half; /* which 32 feature bits the registers show */
    uint64_t accepted;                 /* features that the driver took */
    uint32_t selected;                 /* queue that the registers show */
    uint32_t interrupts;               /* causes; the line is up while there are any */
    struct queue queue[VIRTIO_QUEUES];
};

/* As after power-on; no device if `kind` is null. */
void virtio_init(struct virtio *device, const struct virtio_kind *kind);
/* The register at `offset`, below VIRTIO_SIZE. Registers are 4 bytes wide and aligned, the configuration space behind them is read
 * in any pieces; elsewhere is nothing. */
uint64_t virtio_read(const struct virtio *device, uint32_t offset);
void virtio_write(struct virtio *device, uint32_t offset, uint32_t value);

/* ---- what a kind calls that answers later ---- */

/* The request is done, with `written` bytes in its chain. virtio_resume() is to follow. */
void virtio_answer(struct virtio *device, uint32_t queue, const struct chain *chain, uint32_t written);
/* Takes requests that have waited for room, and raises the interrupt if the driver wants one for what was answered. */
void virtio_resume(struct virtio *device);
/* The configuration space has changed. */
void virtio_configuration_changed(struct virtio *device);

#endif
