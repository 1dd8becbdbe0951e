/* The kernel's half of every address space. */
#ifndef ASHLAR_X86_64_KERNEL_MAP_H
#define ASHLAR_X86_64_KERNEL_MAP_H

#include <stdint.h>

#include "config.h"

#define NUM_DIRECT_PAGE (NUM_FRAME / 512u) /* 2 MiB pages of the direct map */

/* Builds and loads the kernel's page map: image (text executable, constants read-only, data writable), direct map of
 * all frames, kernel stacks with an unmapped page below each. Start-up, once, boot CPU, NX enabled. */
void kernel_map_build(void);

/* Marks the 2 MiB pages of the direct map without memory (bit i of `memory` clear for page i) as uncached. */
void kernel_map_set_memory(const uint64_t memory[NUM_DIRECT_PAGE / 64u]);

/* Physical address of the kernel's root table. */
uint64_t kernel_map_root(void);

/* Physical address of an object in the kernel image. */
uint64_t kernel_physical(const void *address);

#endif
