/* Boot information, independent of the loader that passed it. */
#ifndef ASHLAR_X86_64_INFO_H
#define ASHLAR_X86_64_INFO_H

#include <stdint.h>

#define NUM_MEMORY_RANGE 128u
#define MEMORY_USABLE 1u

struct memory_range {
    uint64_t base;
    uint64_t size;
    uint32_t type; /* MEMORY_USABLE, or some other value */
};

struct boot_info {
    uint32_t num_ranges;
    struct memory_range range[NUM_MEMORY_RANGE];
    uint64_t module;      /* physical address of the system image */
    uint64_t module_size; /* 0: the loader passed none */
    uint64_t rsdt;        /* ACPI root tables, 0 if unknown */
    uint64_t xsdt;
};

#define LOADER_MULTIBOOT2 1u
#define LOADER_PVH 2u

extern struct boot_info boot_info;

/* Reads the loader's structures at physical address `information` into boot_info; they are not needed afterwards.
 * Requires: the direct map. Fails if they cannot be read. */
void boot_info_read(uint32_t loader, uint64_t information);

#endif
