/* The guest primitives of arch.h, without virtualisation hardware. Nested entries have the PC's format. */
#include "guest.h"

#include "arch.h"

static struct hosted_guest guests[NUM_VM];
static hosted_guest_step current_step;
static uint32_t is_supported = 1;

void hosted_guest_set_step(hosted_guest_step step)
{
    current_step = step;
}

void hosted_guest_set_supported(uint32_t supported)
{
    is_supported = supported;
}

struct hosted_guest *hosted_guest(uint32_t vm)
{
    return &guests[vm];
}

uint32_t arch_vm_supported(void)
{
    return is_supported;
}

uint64_t arch_nested_entry(uint32_t frame, uint32_t prot)
{
    uint64_t entry = (uint64_t)frame << ARCH_PTE_FRAME_SHIFT | ARCH_PTE_PRESENT | ARCH_PTE_USER;
    if (prot & PROT_WRITE) {
        entry |= ARCH_PTE_WRITE;
    }
    if (!(prot & PROT_EXEC)) {
        entry |= ARCH_PTE_NO_EXECUTE;
    }
    return entry;
}

uint64_t arch_nested_table(uint32_t frame)
{
    return (uint64_t)frame << ARCH_PTE_FRAME_SHIFT | ARCH_PTE_PRESENT | ARCH_PTE_USER | ARCH_PTE_WRITE;
}

uint32_t arch_nested_frame(uint64_t entry)
{
    return (uint32_t)((entry & ARCH_PTE_FRAME_MASK) >> ARCH_PTE_FRAME_SHIFT);
}

void arch_vcpu_init(uint32_t vm)
{
    guests[vm] = (struct hosted_guest){.valid = 1};
    guests[vm].word[VCPU_RIP] = 0xfff0;
}

uint32_t arch_vcpu_import_part(uint32_t vm, uint32_t frame)
{
    (void)vm;
    (void)frame;
    return 0;
}

uint32_t arch_vcpu_import(uint32_t vm, uint32_t frame)
{
    if (!guests[vm].valid) {
        return 0;
    }
    for (uint32_t i = 0; i < VCPU_WORDS; i++) {
        guests[vm].word[i] = arch_frame_read(frame, i);
    }
    return 1;
}

void arch_vcpu_export(uint32_t vm, uint32_t frame)
{
    for (uint32_t i = VCPU_EXIT_INFO1; i < VCPU_WORDS; i++) {
        arch_frame_write(frame, i, guests[vm].word[i]);
    }
}

uint32_t arch_vcpu_load_part(uint32_t vm)
{
    uint32_t parts = guests[vm].parts;
    if (parts != 0) {
        guests[vm].parts = parts - 1;
        guests[vm].loaded++;
    }
    return parts != 0;
}

uint32_t arch_vcpu_report_part(uint32_t vm)
{
    uint32_t reports = guests[vm].reports;
    guests[vm].reports = reports != 0 ? reports - 1 : 0;
    return reports != 0;
}

uint32_t arch_vcpu_enter(uint32_t vm, uint32_t nested_root)
{
    guests[vm].entries++;
    return current_step(vm, nested_root, &guests[vm]);
}

void arch_vcpu_flush(uint32_t vm)
{
    __atomic_fetch_add(&guests[vm].flushes, 1, __ATOMIC_RELAXED);
}
