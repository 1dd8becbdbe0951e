/* A small guest in 64-bit mode: its memory is mapped in this process at MEMORY_ADDRESS and for the guest at 0, which its own
 * page tables map one to one; its code begins at CODE_GPA. */
#ifndef ASHLAR_LONG_MODE_GUEST_H
#define ASHLAR_LONG_MODE_GUEST_H

#include "ashlar/syscall.h"

#define VCPU_ADDRESS 0x10000000ul
#define MEMORY_ADDRESS 0x20000000ul
#define MEMORY_PAGES 16ul
#define CODE_GPA 0x1000ul
#define TABLES_GPA 0x4000ul /* three pages */
#define STACK_TOP 0x10000ul
#define GPR_RSP 4u

static volatile uint64_t *const vcpu = (volatile uint64_t *)VCPU_ADDRESS;
static volatile uint8_t *const memory = (volatile uint8_t *)MEMORY_ADDRESS;

static inline void long_mode_code(const uint8_t *begin, const uint8_t *end)
{
    for (uint64_t i = 0; i < (uint64_t)(end - begin); i++) {
        memory[CODE_GPA + i] = begin[i];
    }
}

/* Tables that map the first 2 MiB. */
static inline void long_mode_tables(void)
{
    volatile uint64_t *table = (volatile uint64_t *)(MEMORY_ADDRESS + TABLES_GPA);
    table[0] = (TABLES_GPA + 0x1000) | 7;
    table[512] = (TABLES_GPA + 0x2000) | 7;
    table[1024] = 0x87;
}

static inline void long_mode_segment(uint32_t index, uint64_t attributes)
{
    vcpu[VCPU_SEGMENT + 2 * index] = 8 | attributes << 16 | 0xfffffffful << 32;
    vcpu[VCPU_SEGMENT + 2 * index + 1] = 0;
}

/* The processor at the first instruction, with interrupts off and no interrupt table. */
static inline void long_mode_start(void)
{
    for (uint32_t i = 0; i < 6; i++) {
        long_mode_segment(i, 0xc93);
    }
    long_mode_segment(1, 0xa9b);
    long_mode_segment(6, 0x082);
    long_mode_segment(7, 0x08b);
    vcpu[VCPU_IDTR] = 0;
    vcpu[VCPU_IDTR + 1] = 0;
    vcpu[VCPU_CR0] = 0x80000031;
    vcpu[VCPU_CR3] = TABLES_GPA;
    vcpu[VCPU_CR4] = 0x20;
    vcpu[VCPU_EFER] = 0x500;
    vcpu[VCPU_RIP] = CODE_GPA;
    vcpu[VCPU_RFLAGS] = 2;
    vcpu[VCPU_GPR + GPR_RSP] = STACK_TOP;
    vcpu[VCPU_CHANGED] |= VCPU_CHANGED_SEGMENTS | VCPU_CHANGED_CONTROL;
}

#endif
