/* A disk as virtio shows it (virtio 1.2, section 5.2): takes requests from the guest's queue, checks them, and gives them to the
 * disk; answers them when the disk has. Data is copied between the guest's pages and the disk's buffers, so no device ever does
 * DMA to a guest's page. */
#ifndef VMM_BLOCK_H
#define VMM_BLOCK_H

#include <stdint.h>

#include "virtio/chain.h"

struct virtio;

#define BLOCK_DEVICE 2u /* its number among virtio devices */
#define BLOCK_SECTOR 512u

#define BLOCK_FEATURE_SIZE_MAX (1ul << 1)
#define BLOCK_FEATURE_SEG_MAX (1ul << 2)
#define BLOCK_FEATURE_BLK_SIZE (1ul << 6)
#define BLOCK_FEATURE_FLUSH (1ul << 9)
#define BLOCK_FEATURES (BLOCK_FEATURE_SIZE_MAX | BLOCK_FEATURE_SEG_MAX | BLOCK_FEATURE_BLK_SIZE | BLOCK_FEATURE_FLUSH)

/* What became of a request. */
enum block_answer {
    BLOCK_LATER,    /* the disk has it; block_done() will answer it */
    BLOCK_ANSWERED, /* `written` bytes are in the chain */
    BLOCK_MALFORMED /* it has no byte for an answer */
};

/* The device whose requests these are. */
void block_attach(struct virtio *device);
/* Can a further request be taken? Not while the disk still has some that the driver has forgotten. */
uint32_t block_has_room(void);
/* Begins the chain's request. Requires: block_has_room(). */
enum block_answer block_begin(const struct chain *chain, uint32_t *written);
/* The driver has reset the device or its queue: what is under way will not be answered. */
void block_forget(void);
/* The configuration space from `offset` on, and how often it has changed. */
uint64_t block_configuration(uint32_t offset);
uint32_t block_generation(void);

/* ---- what the disk calls ---- */

/* Puts what is to be written into the buffer. Returns 0 if the request is forgotten, so that nothing must be written. */
uint32_t block_prepare(uint32_t slot, uint8_t *buffer);
/* The request is done, or has failed. `buffer`: what was read. */
void block_done(uint32_t slot, uint32_t is_good, const uint8_t *buffer);
/* The disk's size is another. */
void block_changed(void);

#endif
