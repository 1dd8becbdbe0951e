/* Registers of IOMMUs, and entries of their tables. */
#include "abi.h"
#include "arch.h"
#include "machine.h"
#include "parts.h"

#define VTD_READ 1ul
#define VTD_WRITE 2ul
#define AMDVI_PRESENT 1ul
#define AMDVI_LEVEL_SHIFT 9u
#define AMDVI_LEVELS 3u
#define AMDVI_READ 0x2000000000000000ul
#define AMDVI_WRITE 0x4000000000000000ul

static uint64_t base;   /* of VT-d's table of interrupts; 0: they are not remapped */
static uint32_t levels; /* of VT-d's tables */

struct fault {
    uint32_t function;
    uint32_t write;
    uint64_t address;
};

static struct fault last[1];

uint32_t vtd_read32(uint64_t unit, uint32_t reg)
{
    uint32_t value = machine_read32(DIRECT_MAP + unit + (uint64_t)reg);
    return value;
}

uint64_t vtd_read64(uint64_t unit, uint32_t reg)
{
    uint64_t value = machine_read64(DIRECT_MAP + unit + (uint64_t)reg);
    return value;
}

void vtd_write32(uint64_t unit, uint32_t reg, uint32_t value)
{
    machine_write32(DIRECT_MAP + unit + (uint64_t)reg, value);
}

void vtd_write64(uint64_t unit, uint32_t reg, uint64_t value)
{
    machine_write64(DIRECT_MAP + unit + (uint64_t)reg, value);
}

uint64_t amdvi_read(uint64_t unit, uint32_t reg)
{
    uint64_t value = machine_read64(DIRECT_MAP + unit + (uint64_t)reg);
    return value;
}

void amdvi_write(uint64_t unit, uint32_t reg, uint64_t value)
{
    machine_write64(DIRECT_MAP + unit + (uint64_t)reg, value);
}

/* 1 if units remap the interrupts of the controller of lines, else 0. */
uint32_t iommu_replaces(void)
{
    uint32_t count = platform_iommu_count();
    if (count == 0u) {
        return 0u;
    }
    uint32_t is_amd = platform_iommu_is_amd();
    if (is_amd != 0u) {
        uint32_t functions = platform_io_apic_functions();
        if (functions != 0u) {
            return 1u;
        }
        return 0u;
    }
    if (base != 0ul) {
        return 1u;
    }
    return 0u;
}

uint32_t arch_iommu_levels(void)
{
    uint32_t count = platform_iommu_count();
    if (count == 0u) {
        return 0u;
    }
    uint32_t is_amd = platform_iommu_is_amd();
    if (is_amd != 0u) {
        return AMDVI_LEVELS;
    }
    return levels;
}

uint64_t arch_iommu_leaf(uint32_t frame, uint32_t prot)
{
    uint64_t entry = (uint64_t)frame << 12;
    uint64_t write = 0ul;
    uint32_t is_amd = platform_iommu_is_amd();
    if (is_amd != 0u) {
        if ((prot & PROT_WRITE) != 0u) {
            write = AMDVI_WRITE;
        }
        return entry | AMDVI_PRESENT | AMDVI_READ | write;
    }
    if ((prot & PROT_WRITE) != 0u) {
        write = VTD_WRITE;
    }
    return entry | VTD_READ | write;
}

uint64_t arch_iommu_table(uint32_t frame, uint32_t level)
{
    uint64_t entry = (uint64_t)frame << 12;
    uint32_t is_amd = platform_iommu_is_amd();
    if (is_amd != 0u) {
        return entry | AMDVI_PRESENT | AMDVI_READ | AMDVI_WRITE | (uint64_t)(level + 1u) << AMDVI_LEVEL_SHIFT;
    }
    return entry | VTD_READ | VTD_WRITE;
}

uint32_t arch_iommu_units(void)
{
    uint32_t count = platform_iommu_count();
    return count;
}

uint64_t arch_iommu_fault_address(void)
{
    return last[0].address;
}
