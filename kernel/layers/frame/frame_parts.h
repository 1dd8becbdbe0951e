/* The bitmap of free frames, for frame.c only. Guarded by LOCK_FRAME. */
#ifndef ASHLAR_FRAME_PARTS_H
#define ASHLAR_FRAME_PARTS_H

#include <stdint.h>

/* Ensures: the bitmap is empty. Requires: start-up. */
void frame_map_init(void);

/* Requires: frame < NUM_FRAME is not in the bitmap (is in it). */
void frame_map_insert(uint32_t frame);
void frame_map_remove(uint32_t frame);

/* A frame of the bitmap, the highest; NONE if it is empty. */
uint32_t frame_map_find(void);

/* Debug builds. 1 if frame is in the bitmap, else 0. */
uint32_t frame_map_has(uint32_t frame);

/* Debug builds. 0 if the summaries fit the bitmap, else the number of the broken invariant. */
uint32_t frame_map_check(void);

#endif
