/* Physical memory by 4 KiB frame: which frames are free, and which processes own each of the others. Every owner is
 * charged one frame. A frame is free again when its last owner gives it up, and is cleared when it is allocated
 * again. Allocation takes constant time: a bitmap of free frames with three levels of summaries.
 *
 * Lock: LOCK_FRAME guards everything here. */
#ifndef ASHLAR_FRAME_H
#define ASHLAR_FRAME_H

#include <stdint.h>

#include "config.h"

#define FRAME_RESERVED 0u /* not memory, or used by the kernel or the image: never allocated */
#define FRAME_FREE 1u
#define FRAME_ALLOCATED 2u

#define FRAME_NO_QUOTA 0xfffffffeu /* frame_alloc: the owner's container has no frame left */

/* Requires: start-up, one CPU runs. Ensures: every frame is reserved. */
void frame_init(void);

/* Requires: start-up; first + count <= NUM_FRAME. Ensures: the reserved ones among these frames are free. */
void frame_make_usable(uint32_t first, uint32_t count);

/* Allocates a cleared frame whose only owner is process owner, charged to its container. Requires: owner <
 * NUM_PROCESS. Returns the frame; FRAME_NO_QUOTA; NONE (the machine has no free frame). */
uint32_t frame_alloc(uint32_t owner);

/* The same, for a frame that only kernel code accesses, under a lock of its own, such as a page table. That lock must
 * be held, or the frame be otherwise unreachable, when it is freed. */
uint32_t frame_alloc_private(uint32_t owner);

/* Adds p to the owners of frame, charged to p's container. Requires: p < NUM_PROCESS.
 * Returns STATUS_OK; ERR_BAD_STATE (the frame is not allocated, or p owns it already, or p has no container);
 * ERR_QUOTA. */
uint32_t frame_add_owner(uint32_t frame, uint32_t p);

/* Removes p from the owners of frame and refunds it; removing the last owner frees the frame. Requires: p <
 * NUM_PROCESS; p can no longer reach the frame; if it is private and p its last owner, no other CPU uses its words.
 * Returns STATUS_OK; ERR_BAD_STATE (p does not own it). */
uint32_t frame_remove_owner(uint32_t frame, uint32_t p);

/* Bit p: process p owns the frame. 0 for a frame that is not allocated or out of range. */
uint64_t frame_owners(uint32_t frame);

/* FRAME_*; FRAME_RESERVED for a frame out of range. */
uint32_t frame_state(uint32_t frame);

/* Number of free frames. */
uint32_t frame_free_count(void);

/* Invariant walk (debug builds). Also compares the owners of all frames with the containers' usage. */
uint32_t frame_check(void);

#endif
