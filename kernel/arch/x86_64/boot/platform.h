/* The machine as its ACPI tables describe it; constant after start-up. */
#ifndef ASHLAR_X86_64_PLATFORM_H
#define ASHLAR_X86_64_PLATFORM_H

#include <stdint.h>

#include "config.h"

#define NUM_ISA_LINE 16u
#define NUM_IOMMU 8u
#define IOMMU_WINDOW 0x4000ul /* bytes of registers of one unit, at most */
#define IOMMU_NONE 0u
#define IOMMU_INTEL 1u /* VT-d, DMAR table */
#define IOMMU_AMD 2u   /* AMD-Vi, IVRS table */

struct platform {
    uint32_t cpu_count;   /* usable processors, at most NUM_CPU; the first is the one that starts the kernel */
    uint32_t cpu_ignored; /* processors beyond NUM_CPU */
    uint32_t apic_id[NUM_CPU];
    uint64_t local_apic;
    uint64_t io_apic;                 /* the one with the lowest lines */
    uint32_t isa_line[NUM_ISA_LINE];  /* controller input of the ISA interrupt */
    uint32_t pin_flags[NUM_ISA_LINE]; /* of the controller's first pins, by override: 1 level triggered, 2 active low */
    uint64_t hpet;                    /* 0: none */
    uint32_t pm_timer_port;           /* 0: none */
    uint32_t pm_timer_mask;           /* 24 or 32 ones */
    uint32_t pm1a_control;            /* ports for power off; 0: none */
    uint32_t pm1b_control;
    uint32_t sleep_type_a; /* values for the state "off" */
    uint32_t sleep_type_b;
    uint32_t iommu_kind; /* IOMMU_*; units of one kind only */
    uint32_t iommu_count;
    uint64_t iommu[NUM_IOMMU]; /* registers of each unit */
    uint32_t num_io_apic_function;
    uint32_t io_apic_function[NUM_IOMMU]; /* requester ids of I/O interrupt controllers */
};

extern struct platform platform;

#endif
