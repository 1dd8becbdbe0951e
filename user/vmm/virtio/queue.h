/* A split virtqueue (virtio 1.2, section 2.7) from the device's side: takes chains of descriptors, gives them back as used.
 *
 * The rings are the guest's memory and say anything. Every field is read once; every address is checked once, when its
 * descriptor is read; what breaks the rules makes the queue `broken`, and its device then needs a reset. Pure state: no
 * system calls. */
#ifndef VMM_QUEUE_H
#define VMM_QUEUE_H

#include <stdint.h>

#include "virtio/chain.h"

#define QUEUE_MAX CHAIN_MAX /* entries, a power of two */

struct queue {
    uint64_t descriptors, driver_ring, device_ring; /* guest-physical */
    uint32_t size;                                  /* entries that the driver chose */
    uint32_t ready;
    uint32_t broken;
    uint32_t event_index, indirect; /* features that were negotiated */
    uint16_t taken, used;           /* running indices of the two rings */
    uint16_t signalled;             /* `used` at the last question whether to interrupt */
};

/* As after a reset. */
void queue_init(struct queue *queue);
/* Checks size and place of the rings, and takes them into use. A fault leaves the queue broken. */
void queue_enable(struct queue *queue, uint32_t event_index, uint32_t indirect);
/* Takes the next chain. Returns 1, or 0 if there is none, or the queue is not ready or broken. */
uint32_t queue_take(struct queue *queue, struct chain *chain);
/* Gives the chain back, with `written` bytes in its writable segments. */
void queue_give(struct queue *queue, const struct chain *chain, uint32_t written);
/* Does the driver want an interrupt for what was given back since the last question? */
uint32_t queue_wants_interrupt(struct queue *queue);

#endif
