/* The guest's physical memory as kernels get to know it, whatever the protocol: the same ranges, and where the monitor puts what it
 * gives to the kernel. */
#ifndef VMM_MEMORY_MAP_H
#define VMM_MEMORY_MAP_H

#include <stdint.h>

#include "boot/acpi.h"

#define MEMORY_GDT 0x1000ul
#define MEMORY_START 0x7000ul       /* what the kernel gets the address of */
#define MEMORY_PAGE_TABLES 0x9000ul /* 1 root, 1 directory pointer table, 4 directories */
#define MEMORY_COMMAND_LINE 0x20000ul
#define MEMORY_LOW_END 0x9f000ul /* above: reserved up to 1 MiB */
#define MEMORY_HIGH 0x100000ul
#define COMMAND_LINE_MAX 2048u

#define MEMORY_RAM 1u
#define MEMORY_RESERVED 2u
#define MEMORY_ACPI 3u
#define MEMORY_RANGES 5u

struct memory_range {
    uint64_t from, to;
    uint32_t type;
};

/* The ranges of a guest with this much memory, without a gap. */
static inline void memory_map(uint64_t memory_size, struct memory_range range[MEMORY_RANGES])
{
    range[0] = (struct memory_range){0, MEMORY_LOW_END, MEMORY_RAM};
    range[1] = (struct memory_range){MEMORY_LOW_END, ACPI_BASE, MEMORY_RESERVED};
    range[2] = (struct memory_range){ACPI_BASE, ACPI_BASE + ACPI_SIZE, MEMORY_ACPI};
    range[3] = (struct memory_range){ACPI_BASE + ACPI_SIZE, MEMORY_HIGH, MEMORY_RESERVED};
    range[4] = (struct memory_range){MEMORY_HIGH, memory_size, MEMORY_RAM};
}

#endif
