/* The IOMMU primitives of arch.h: dispatch to VT-d or AMD-Vi. */
#include "iommu/iommu_units.h"

#include "abi.h"
#include "arch.h"
#include "cpu/cpu.h"
#include "entry/fatal.h"
#include "cpu/percpu.h"
#include "boot/platform.h"

#define FRAME 4096ul
#define CACHE_LINE 64ul
#define TIMEOUT_NS 1000000000ul /* a unit that does not answer within a second is considered broken */
#define FRAME_BITS 0x000ffffffffff000ul

/* Entries of the tables of a domain. VT-d: read, write. AMD-Vi: present, level of the table below, read, write. */
#define VTD_READ 1ul
#define VTD_WRITE 2ul
#define AMDVI_PRESENT 1ul
#define AMDVI_LEVEL_SHIFT 9u
#define AMDVI_READ 0x2000000000000000ul
#define AMDVI_WRITE 0x4000000000000000ul

/* Of a message where nothing remaps: fixed, edge triggered, to one processor. */
#define MESSAGE_ADDRESS 0xfee00000ul
#define MESSAGE_CPU_SHIFT 12u

static struct iommu_fault last;

static int is_amd(void)
{
    return platform.iommu_kind == IOMMU_AMD;
}

uint32_t iommu_units_frames(void)
{
    return is_amd() ? amdvi_frames() : vtd_frames();
}

const char *iommu_units_start(uint64_t tables)
{
    return is_amd() ? amdvi_start(tables) : vtd_start(tables);
}

uint32_t iommu_replaces(void)
{
    return platform.iommu_count != 0 && (is_amd() ? amdvi_replaces() : vtd_replaces());
}

uint32_t iommu_route(uint32_t vector, uint32_t apic_id, uint32_t is_level)
{
    if (iommu_replaces() && !is_amd()) {
        return vtd_route(vector, apic_id, is_level);
    }
    if (iommu_replaces()) {
        amdvi_route(vector, apic_id);
    }
    return apic_id << 24;
}

/* AMD's units let no message pass where they remap: their tables have entries for I/O interrupt controllers only. */
struct message iommu_message(uint32_t vector, uint32_t apic_id, uint32_t function)
{
    if (iommu_replaces()) {
        return is_amd() ? (struct message){0, 0} : vtd_message(vector, apic_id, function);
    }
    return (struct message){MESSAGE_ADDRESS | (uint64_t)apic_id << MESSAGE_CPU_SHIFT, vector};
}

uint32_t iommu_await(const volatile uint32_t *word, uint32_t mask, uint32_t expected)
{
    uint64_t deadline = arch_clock_ns() + TIMEOUT_NS;

    while ((*word & mask) != expected) {
        if (arch_clock_ns() >= deadline) {
            return 0;
        }
        cpu_pause();
    }
    return 1;
}

void iommu_fatal(void)
{
    fatal_text("kernel: fatal: an IOMMU does not answer\n");
    arch_power_off(FATAL_CODE);
}

void iommu_write_back(const void *address, uint64_t bytes)
{
    const char *first = address;
    for (const char *line = first; line < first + bytes; line += CACHE_LINE) {
        __asm__ volatile("clflush (%0)" : : "r"(line) : "memory");
    }
    __asm__ volatile("mfence" : : : "memory");
}

/* Makes written entries visible to the units. */
static void flush(uint32_t table, uint32_t word, uint64_t bytes)
{
    __asm__ volatile("" : : : "memory");
    if (!is_amd()) {
        vtd_flush((uint64_t *)direct((uint64_t)table * FRAME) + word, bytes);
    }
}

uint32_t arch_iommu_levels(void)
{
    if (platform.iommu_count == 0) {
        return 0;
    }
    return is_amd() ? amdvi_levels() : vtd_levels();
}

uint64_t arch_iommu_leaf(uint32_t frame, uint32_t prot)
{
    uint64_t entry = (uint64_t)frame * FRAME;

    if (is_amd()) {
        return entry | AMDVI_PRESENT | AMDVI_READ | ((prot & PROT_WRITE) != 0 ? AMDVI_WRITE : 0);
    }
    return entry | VTD_READ | ((prot & PROT_WRITE) != 0 ? VTD_WRITE : 0);
}

uint64_t arch_iommu_table(uint32_t frame, uint32_t level)
{
    uint64_t entry = (uint64_t)frame * FRAME;

    if (is_amd()) {
        return entry | AMDVI_PRESENT | AMDVI_READ | AMDVI_WRITE | (uint64_t)(level + 1) << AMDVI_LEVEL_SHIFT;
    }
    return entry | VTD_READ | VTD_WRITE;
}

uint32_t arch_iommu_frame(uint64_t entry)
{
    return (uint32_t)((entry & FRAME_BITS) / FRAME);
}

void arch_iommu_publish(uint32_t table, uint32_t part)
{
    flush(table, part * (FRAME_WORDS / ARCH_IOMMU_PARTS), FRAME / ARCH_IOMMU_PARTS);
}

void arch_iommu_write(uint32_t table, uint32_t word, uint64_t entry)
{
    arch_frame_write(table, word, entry);
    flush(table, word, sizeof entry);
}

void arch_iommu_attach(uint32_t function, uint32_t domain, uint32_t root)
{
    if (is_amd()) {
        amdvi_attach(function, domain, (uint64_t)root * FRAME);
    } else {
        vtd_attach(function, domain, (uint64_t)root * FRAME);
    }
}

void arch_iommu_detach(uint32_t function)
{
    if (is_amd()) {
        amdvi_detach(function);
    } else {
        vtd_detach(function);
    }
}

uint32_t arch_iommu_units(void)
{
    return platform.iommu_count;
}

uint32_t arch_iommu_caches_absent(void)
{
    return is_amd() ? 0 : vtd_caches_absent();
}

void arch_iommu_update(uint32_t unit, uint32_t function, uint32_t domain)
{
    if (is_amd()) {
        amdvi_update(unit, function, domain);
    } else {
        vtd_update(unit, domain);
    }
}

uint64_t arch_iommu_refused(void)
{
    return is_amd() ? amdvi_refused() : vtd_refused();
}

uint32_t arch_iommu_fault(uint32_t unit)
{
    uint32_t found = is_amd() ? amdvi_fault(unit, &last) : vtd_fault(unit, &last);

    return found != 0 ? last.function | last.write << 16 : NONE;
}

void arch_iommu_listen(uint32_t cpu, uint32_t vector)
{
    if (!is_amd()) { /* interrupts of AMD's units, which are PCI devices, are not set up */
        vtd_listen(cpu == NONE ? NONE : percpu[cpu].apic_id, vector);
    }
}

uint64_t arch_iommu_fault_address(void)
{
    return last.address;
}
