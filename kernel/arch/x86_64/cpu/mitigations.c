/* The choice of mitigations, and those that are not a few instructions of an entry. */
#include "cpu/mitigations.h"

#include "arch.h"
#include "boot_table.h"
#include "cpu/constants.h"
#include "cpu/cpu.h"
#include "layout.h"

#define MSR_SPECULATION_CONTROL 0x48u
#define MSR_PREDICTION_COMMAND 0x49u
#define CONTROL_STIBP 2ul
#define COMMAND_IBPB 1ul

uint32_t mitigations_verw;
MACHINE_CONSTANT uint32_t mitigations_vector_state;
uint32_t mitigations_at_exit; /* BOOT_MITIGATION_*, of those that are done on the way to user mode */
static uint32_t chosen_all;
/* VERW overwrites the processor's buffers where its operand, in memory, is a selector of a writable segment. */
const uint16_t mitigations_selector = SELECTOR_KERNEL_DATA;

struct feature {
    uint32_t mitigation;
    const char *name;
    uint32_t leaf;
    uint32_t in_register; /* 0 eax, 1 ebx, 2 ecx, 3 edx */
    uint32_t bit;
};

/* Intel's bit and AMD's of each: one is enough. */
static const struct feature features[] = {
    {BOOT_MITIGATION_VERW, "verw", 7, 3, 10},   {BOOT_MITIGATION_VERW, "verw", 0x80000021, 0, 5},
    {BOOT_MITIGATION_IBPB, "ibpb", 7, 3, 26},   {BOOT_MITIGATION_IBPB, "ibpb", 0x80000008, 1, 12},
    {BOOT_MITIGATION_STIBP, "stibp", 7, 3, 27}, {BOOT_MITIGATION_STIBP, "stibp", 0x80000008, 1, 15},
};
#define NUM_FEATURE (sizeof features / sizeof features[0])

static uint32_t present(const struct feature *feature)
{
    uint32_t highest = cpuid(feature->leaf & 0x80000000u, 0).eax;
    if (feature->leaf > highest) {
        return 0;
    }
    struct cpuid leaf = cpuid(feature->leaf, 0);
    uint32_t word[4] = {leaf.eax, leaf.ebx, leaf.ecx, leaf.edx};
    return word[feature->in_register] >> feature->bit & 1;
}

const char *mitigations_choose(uint32_t chosen)
{
    for (uint32_t i = 0; i < NUM_FEATURE; i += 2) {
        if ((chosen & features[i].mitigation) != 0 && !present(&features[i]) && !present(&features[i + 1])) {
            return features[i].name;
        }
    }
    mitigations_verw = (chosen & BOOT_MITIGATION_VERW) != 0;
    mitigations_vector_state = (chosen & BOOT_MITIGATION_VECTOR_STATE) != 0;
    mitigations_at_exit = chosen & (BOOT_MITIGATION_VERW | BOOT_MITIGATION_IBPB | BOOT_MITIGATION_SELECTORS);
    chosen_all = chosen;
    return 0;
}

void mitigations_init_cpu(void)
{
    if ((chosen_all & BOOT_MITIGATION_STIBP) != 0) {
        write_msr(MSR_SPECULATION_CONTROL, read_msr(MSR_SPECULATION_CONTROL) | CONTROL_STIBP);
    }
}

/* GS is cleared later: loading a selector may clear the base, which still is the kernel's; the user's is always 0. */
static void clear_selectors(void)
{
    __asm__ volatile("mov %0, %%ds\n\tmov %0, %%es\n\tmov %0, %%fs" : : "r"(0));
}

static void set_space(uint32_t space)
{
    *(uint32_t __seg_gs *)PERCPU_SPACE = space;
}

uint32_t mitigations_leave(void)
{
    uint32_t clears = 0;
    uint32_t space = arch_loaded_root();
    if (*(const uint32_t __seg_gs *)PERCPU_SPACE != space) {
        set_space(space);
        if ((mitigations_at_exit & BOOT_MITIGATION_SELECTORS) != 0) {
            clear_selectors();
            clears = 1;
        }
        if ((mitigations_at_exit & BOOT_MITIGATION_IBPB) != 0) {
            write_msr(MSR_PREDICTION_COMMAND, COMMAND_IBPB);
        }
    }
    if ((mitigations_at_exit & BOOT_MITIGATION_VERW) != 0) {
        __asm__ volatile("verw %0" : : "m"(mitigations_selector) : "cc");
    }
    return clears;
}

void mitigations_forget_space(void)
{
    set_space(NONE);
}

void mitigations_around_guest(void)
{
    if ((chosen_all & BOOT_MITIGATION_IBPB) != 0) {
        write_msr(MSR_PREDICTION_COMMAND, COMMAND_IBPB);
    }
}
