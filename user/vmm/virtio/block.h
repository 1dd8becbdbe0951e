/* A disk as virtio shows it (virtio 1.2, section 5.2): takes requests from the guest's queue, checks them, and gives them to the
 * disk; answers them when the disk has. Data is copied between the guest's pages and the disk's buffers, so no device ever does
 * DMA to a guest's page. */
#ifndef VMM_BLOCK_H
#define VMM_BLOCK_H

#include <stdint.h>

#include "virtio/device.h"

#define BLOCK_SECTOR 512u

extern const struct virtio_kind block_kind;

/* The device whose requests these are from now on. */
void block_attach(struct virtio *device);

/* ---- what the disk calls ---- */

/* Puts what is to be written into the buffer. Returns 0 if the request is forgotten, so that nothing must be written. */
uint32_t block_prepare(uint32_t slot, uint8_t *buffer);
/* The request is done, or has failed. `buffer`: what was read. */
void block_done(uint32_t slot, uint32_t is_good, const uint8_t *buffer);
/* The disk's size is another. */
void block_changed(void);

#endif
