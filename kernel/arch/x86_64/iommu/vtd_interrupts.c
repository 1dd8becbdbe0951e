/* Remapping of interrupts by Intel VT-d: one table for all units. An interrupt of the I/O interrupt controller, or a message of a
 * device, names an entry, which says whose it is: from another function it is refused, as is each entry that is not present, and each
 * interrupt that names none. Facts from "Intel Virtualization Technology for Directed I/O", chapters 5 and 9.9. */
#include "iommu/iommu_units.h"

#include "arch.h"
#include "boot/platform.h"
#include "cpu/cpu.h"
#include "interrupt/ioapic.h"

#define FRAME 4096ul
#define TABLE_SIZE 7ul /* of 2^(7+1) entries, a frame; no processors with numbers beyond 255 */

/* Entries: two words. */
#define ENTRY_PRESENT 0x1ul
#define ENTRY_LEVEL 0x10ul
#define ENTRY_VECTOR_SHIFT 16u
#define ENTRY_CPU_SHIFT 40u
#define ENTRY_FROM 0x40000ul /* upper word: from the function in its lowest 16 bits only */

/* A line's entry has the number of its vector, its message's entry one that is larger by 128. */
#define MESSAGE_FIRST 128u

/* An interrupt that names an entry: in the upper word of a controller's entry, in the address of a message. */
#define CONTROLLER_NAMES 0x10000u
#define CONTROLLER_SHIFT 17u
#define MESSAGE_ADDRESS 0xfee00010ul
#define MESSAGE_SHIFT 5u

static uint64_t (*entries)[2];
static uint64_t base; /* 0: interrupts are not remapped */

/* Where the firmware's table does not name one controller that no bridge hides, its interrupts could not be told from others. */
void vtd_interrupts_build(uint64_t table)
{
    if (platform.num_io_apic_function == 1 && ioapic_can_end()) {
        entries = direct(table);
        base = table | TABLE_SIZE;
    }
}

uint32_t vtd_replaces(void)
{
    return base != 0;
}

uint64_t vtd_interrupts_base(void)
{
    return base;
}

static void write_entry(uint32_t index, uint64_t low, uint32_t function)
{
    entries[index][1] = function | ENTRY_FROM;
    __asm__ volatile("" : : : "memory");
    entries[index][0] = low | ENTRY_PRESENT;
    vtd_flush(entries[index], sizeof entries[0]);
    vtd_drop_interrupts();
}

static uint64_t to(uint32_t vector, uint32_t apic_id)
{
    return (uint64_t)vector << ENTRY_VECTOR_SHIFT | (uint64_t)apic_id << ENTRY_CPU_SHIFT;
}

/* The controller ends an interrupt by its vector, which its own entry names too. */
uint32_t vtd_route(uint32_t vector, uint32_t apic_id, uint32_t is_level)
{
    write_entry(vector, to(vector, apic_id) | (is_level != 0 ? ENTRY_LEVEL : 0), platform.io_apic_function[0]);
    return vector << CONTROLLER_SHIFT | CONTROLLER_NAMES;
}

struct message vtd_message(uint32_t vector, uint32_t apic_id, uint32_t function)
{
    uint32_t index = MESSAGE_FIRST + vector;

    write_entry(index, to(vector, apic_id), function);
    return (struct message){MESSAGE_ADDRESS | (uint64_t)index << MESSAGE_SHIFT, 0};
}
