/* The machine as its tables describe it: constant after start-up. */
#include "arch.h"
#include "machine.h"
#include "parts.h"

#define NUM_ISA_LINE 16u
#define NUM_IOMMU_UNIT 8u
#define IOMMU_AMD 2u

struct platform {
    uint32_t cpu_count;
    uint32_t cpu_ignored;
    uint32_t apic_id[NUM_CPU];
    uint64_t local_apic;
    uint64_t io_apic;
    uint32_t isa_line[NUM_ISA_LINE];
    uint32_t pin_flags[NUM_ISA_LINE];
    uint64_t hpet;
    uint32_t pm_timer_port;
    uint32_t pm_timer_mask;
    uint32_t pm1a_control;
    uint32_t pm1b_control;
    uint32_t sleep_type_a;
    uint32_t sleep_type_b;
    uint32_t iommu_kind;
    uint32_t iommu_count;
    uint64_t iommu[NUM_IOMMU_UNIT];
    uint32_t num_io_apic_function;
    uint32_t io_apic_function[NUM_IOMMU_UNIT];
};

static struct platform platform[1];

/* Where the registers of the controller of lines are mapped. */
uint64_t platform_io_apic(void)
{
    return DIRECT_MAP + platform[0].io_apic;
}

uint32_t platform_isa_line(uint32_t line)
{
    return platform[0].isa_line[line];
}

/* The lower half of where the local controllers' window is. */
uint32_t platform_local_apic_low(void)
{
    return (uint32_t)platform[0].local_apic;
}

/* 1 or 0. */
uint32_t platform_iommu_is_amd(void)
{
    if (platform[0].iommu_kind == IOMMU_AMD) {
        return 1u;
    }
    return 0u;
}

uint32_t platform_iommu_count(void)
{
    return platform[0].iommu_count;
}

uint32_t platform_io_apic_functions(void)
{
    return platform[0].num_io_apic_function;
}

uint32_t platform_io_apic_function(uint32_t number)
{
    return platform[0].io_apic_function[number];
}

uint32_t platform_pin_flags(uint32_t pin)
{
    return platform[0].pin_flags[pin];
}

uint32_t platform_pm1a_control(void)
{
    return platform[0].pm1a_control;
}

uint32_t platform_pm1b_control(void)
{
    return platform[0].pm1b_control;
}

uint32_t platform_sleep_type_a(void)
{
    return platform[0].sleep_type_a;
}

uint32_t platform_sleep_type_b(void)
{
    return platform[0].sleep_type_b;
}
