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
#define AMDVI_BLOCKED 3ul /* valid, without levels and permissions */
#define AMDVI_MAPPED 0x6000000000000603ul
#define VTD_PRESENT 1ul
#define VTD_DOMAIN_SHIFT 8u
#define LINE_BYTES 64ul
#define PART_LINES 8u
#define TIMEOUT_NS 1000000000ul

static uint64_t base;     /* of VT-d's table of interrupts; 0: they are not remapped */
static uint32_t levels;   /* of VT-d's tables */
static uint64_t context;  /* VT-d: address of the context tables, one for each bus; 256 entries of two words */
static uint32_t coherent; /* VT-d: 0, where a unit does not look into caches */
static uint64_t table;    /* AMD-Vi: address of the device table; entries of four words */

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

/* Of bits 12 to 43. */
uint32_t arch_iommu_frame(uint64_t entry)
{
    return (uint32_t)(entry >> 12);
}

uint32_t arch_iommu_units(void)
{
    uint32_t count = platform_iommu_count();
    return count;
}

/* Waits until the bits of a word in a device's hands are these, a second at most. 1: they are. */
uint32_t iommu_await(uint64_t word, uint32_t mask, uint32_t expected)
{
    uint64_t now = arch_clock_ns();
    uint64_t deadline = now + TIMEOUT_NS;
    uint32_t value = machine_read32(word);
    while ((value & mask) != expected) {
        now = arch_clock_ns();
        if (now >= deadline) {
            return 0u;
        }
        arch_spin_hint();
        value = machine_read32(word);
    }
    return 1u;
}

/* Writes a line back to memory, where units do not look into caches. */
void iommu_flush_line(uint64_t address)
{
    if (coherent == 0u) {
        machine_flush_line(address);
        machine_fence();
    }
}

static uint64_t context_entry(uint32_t function)
{
    return context + ((uint64_t)(function >> 8) << 12) + ((uint64_t)(function & 0xffu) << 4);
}

/* The word that makes an entry valid is written last. */
void arch_iommu_attach(uint32_t function, uint32_t domain, uint32_t root)
{
    uint64_t frame = (uint64_t)root << 12;
    uint32_t is_amd = platform_iommu_is_amd();
    if (is_amd != 0u) {
        uint64_t entry = table + ((uint64_t)function << 5);
        machine_write64(entry + 8ul, (uint64_t)domain);
        machine_write64(entry, frame | AMDVI_MAPPED);
        return;
    }
    uint64_t at = context_entry(function);
    machine_write64(at + 8ul, (uint64_t)domain << VTD_DOMAIN_SHIFT | (uint64_t)(levels - 2u));
    machine_write64(at, frame | VTD_PRESENT);
    iommu_flush_line(at);
}

void arch_iommu_detach(uint32_t function)
{
    uint32_t is_amd = platform_iommu_is_amd();
    if (is_amd != 0u) {
        machine_write64(table + ((uint64_t)function << 5), AMDVI_BLOCKED);
        return;
    }
    uint64_t at = context_entry(function);
    machine_write64(at, 0ul);
    machine_write64(at + 8ul, 0ul);
    iommu_flush_line(at);
}

void arch_iommu_publish(uint32_t frame, uint32_t part)
{
    uint32_t is_amd = platform_iommu_is_amd();
    if (is_amd != 0u || coherent != 0u) {
        return;
    }
    uint64_t first = DIRECT_MAP + ((uint64_t)frame << 12) + ((uint64_t)(part << 6) << 3);
    for (uint32_t i = 0u; i < PART_LINES; i = i + 1u) {
        machine_flush_line(first + (uint64_t)i * LINE_BYTES);
    }
    machine_fence();
}

void arch_iommu_write(uint32_t frame, uint32_t word, uint64_t entry)
{
    arch_frame_write(frame, word, entry);
    uint32_t is_amd = platform_iommu_is_amd();
    if (is_amd == 0u) {
        iommu_flush_line(DIRECT_MAP + ((uint64_t)frame << 12) + ((uint64_t)word << 3));
    }
}
