/* Physical memory at start-up: which frames nobody uses. */
#ifndef ASHLAR_X86_64_MEMORY_H
#define ASHLAR_X86_64_MEMORY_H

#include <stdint.h>

/* Marks the direct map's pages without memory as uncached. Requires boot_info_read(). */
void memory_set_caching(void);

/* Visits the free memory below 4 GiB: usable by the firmware's map, above 1 MiB, not the kernel, not the module; whole
 * frames, each once. Calls give(first, count) for each piece (give may be 0) and returns the number of frames. */
uint32_t memory_free_pieces(void (*give)(uint32_t first, uint32_t count));

/* Sets the first `frames` free frames that follow each other apart, for good; physical address of the first, or 0 if no
 * piece is so large. Once only. */
uint64_t memory_take(uint32_t frames);

/* 1 if [base, base + size) touches what the firmware calls usable memory, else 0. */
uint32_t memory_is_ram(uint64_t base, uint64_t size);

/* Physical address of a usable page below 640 KiB, for starting other CPUs; 0 if there is none. */
uint64_t memory_low_page(void);

#endif
