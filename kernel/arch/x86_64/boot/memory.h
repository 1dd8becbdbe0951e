/* Physical memory at start-up: the free frames. */
#ifndef ASHLAR_X86_64_MEMORY_H
#define ASHLAR_X86_64_MEMORY_H

#include <stdint.h>

/* Marks the direct map's pages without memory as uncached. Requires boot_info_read(). */
void memory_set_caching(void);

/* Visits the free memory: usable according to the firmware's map, above 1 MiB, neither kernel nor module;
 * whole frames, each once. Calls give(first, count) for each piece (give may be 0) and returns the number of frames. */
uint32_t memory_free_pieces(void (*give)(uint32_t first, uint32_t count));

/* From now on memory above 4 GiB is not used. Returns how many free frames are lost by that. */
uint32_t memory_keep_below_4_gib(void);

/* Allocates the first `frames` contiguous free frames for good: physical address of the first, or 0 if no piece is
 * large enough. Can be called once only. */
uint64_t memory_take(uint32_t frames);

/* 1 if [base, base + size) overlaps memory that the firmware reports as usable, else 0. */
uint32_t memory_is_ram(uint64_t base, uint64_t size);

/* Physical address of a usable page below 640 KiB, for starting other CPUs; 0 if there is none. */
uint64_t memory_low_page(void);

#endif
