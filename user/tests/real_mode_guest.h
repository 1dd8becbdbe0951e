/* A small guest in real mode: its code in its memory, its interrupt vectors, its processor's state at the start. The memory is
 * mapped in this process at MEMORY_ADDRESS and for the guest at 0; the code segment begins at CODE_GPA. */
#ifndef ASHLAR_REAL_MODE_GUEST_H
#define ASHLAR_REAL_MODE_GUEST_H

#include "ashlar/syscall.h"

#define VCPU_ADDRESS 0x10000000ul
#define MEMORY_ADDRESS 0x20000000ul
#define MEMORY_PAGES 8ul
#define CODE_GPA 0x1000ul
#define STACK_TOP 0x8000ul
#define GPR_RSP 4u
#define RFLAGS_ALWAYS 0x2ul
#define RFLAGS_IF 0x200ul

static volatile uint64_t *const vcpu = (volatile uint64_t *)VCPU_ADDRESS;
static volatile uint8_t *const memory = (volatile uint8_t *)MEMORY_ADDRESS;

/* Copies code to the beginning of the code segment. */
static inline void real_mode_code(const uint8_t *begin, const uint8_t *end)
{
    for (uint64_t i = 0; i < (uint64_t)(end - begin); i++) {
        memory[CODE_GPA + i] = begin[i];
    }
}

/* The handler of a vector stands `at` bytes into the code segment. */
static inline void real_mode_vector(uint32_t vector, uint64_t at)
{
    memory[vector * 4] = (uint8_t)at;
    memory[vector * 4 + 1] = (uint8_t)(at >> 8);
    memory[vector * 4 + 2] = (uint8_t)(CODE_GPA >> 4);
    memory[vector * 4 + 3] = (uint8_t)(CODE_GPA >> 12);
}

static inline void real_mode_segment(uint32_t index, uint64_t selector, uint64_t attributes)
{
    vcpu[VCPU_SEGMENT + 2 * index] = selector | attributes << 16 | 0xfffful << 32;
    vcpu[VCPU_SEGMENT + 2 * index + 1] = selector << 4;
}

/* The processor at the first instruction of the code segment. */
static inline void real_mode_start(uint64_t rflags)
{
    for (uint32_t i = 0; i < 6; i++) {
        real_mode_segment(i, 0, 0x093);
    }
    real_mode_segment(1, CODE_GPA >> 4, 0x09b);
    vcpu[VCPU_IDTR] = 0x3ff;
    vcpu[VCPU_IDTR + 1] = 0;
    vcpu[VCPU_CR0] = 0x10;
    vcpu[VCPU_RIP] = 0;
    vcpu[VCPU_RFLAGS] = rflags | RFLAGS_ALWAYS;
    vcpu[VCPU_GPR + GPR_RSP] = STACK_TOP;
    vcpu[VCPU_CHANGED] = VCPU_CHANGED_SEGMENTS | VCPU_CHANGED_CONTROL;
}

#endif
