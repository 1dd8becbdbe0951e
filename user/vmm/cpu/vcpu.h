/* The vcpu page: a virtual CPU's state, shared with the kernel (layout in kernel/abi.h). `vcpu` is the page's words. */
#ifndef VMM_VCPU_H
#define VMM_VCPU_H

#include <stdint.h>

#include "abi.h"
#include "cpu/segments.h"

#define VCPU_ADDRESS 0x10000000ul /* of virtual CPU 0; those of the others follow */

/* General registers by their number in instruction encodings. */
#define RAX 0u
#define RCX 1u
#define RDX 2u
#define RBX 3u
#define RSP 4u
#define RSI 6u
#define RDI 7u

#define RFLAGS_IF 0x200ul
#define RFLAGS_DF 0x400ul
#define RFLAGS_AC 0x40000ul
#define CR0_PE 0x1ul
#define CR0_ET 0x10ul
#define CR0_NE 0x20ul
#define CR0_PG 0x80000000ul
#define CR0_WP 0x10000ul
#define CR4_PAE 0x20ul
#define CR4_SMAP 0x200000ul
#define EFER_LME 0x100ul
#define EFER_LMA 0x400ul

#define EXCEPTION_DB 1u
#define EXCEPTION_NMI 2u
#define EXCEPTION_UD 6u
#define EXCEPTION_GP 13u
#define EXCEPTION_PF 14u

static inline uint64_t vcpu_reg(volatile const uint64_t *vcpu, uint32_t reg)
{
    return vcpu[VCPU_GPR + reg];
}

static inline void vcpu_set_reg(volatile uint64_t *vcpu, uint32_t reg, uint64_t value)
{
    vcpu[VCPU_GPR + reg] = value;
}

#define VCPU_CODE_LONG (1ul << 25) /* in the word of the code segment: 64-bit code, where long mode is active */
#define VCPU_CODE_WIDE (1ul << 26) /* 32-bit code */

/* The size of the code that runs: 16, 32 or 64 bits. */
static inline uint32_t vcpu_mode(volatile const uint64_t *vcpu)
{
    uint64_t code = vcpu[VCPU_SEGMENT + 2 * SEGMENT_CS];
    if ((vcpu[VCPU_EFER] & EFER_LMA) != 0 && (code & VCPU_CODE_LONG) != 0) {
        return 64;
    }
    return (code & VCPU_CODE_WIDE) != 0 ? 32 : 16;
}

/* The linear address of `offset` in a segment, SEGMENT_*. */
static inline uint64_t vcpu_linear(volatile const uint64_t *vcpu, uint32_t segment, uint64_t offset)
{
    uint64_t base = vcpu[VCPU_SEGMENT + 2 * segment + 1];
    if (vcpu_mode(vcpu) == 64) {
        return segment >= SEGMENT_FS ? base + offset : offset;
    }
    return (uint32_t)(base + offset);
}

/* Goes past the instruction that exited: to where the hardware says, else over `length` bytes. */
static inline void vcpu_skip(volatile uint64_t *vcpu, uint32_t length)
{
    uint64_t next = vcpu[VCPU_EXIT_NEXT_RIP];
    vcpu[VCPU_RIP] = next != 0 ? next : vcpu[VCPU_RIP] + length;
    vcpu[VCPU_INTERRUPT_SHADOW] = 0;
}

/* The instruction that exited raises an exception instead. */
static inline void vcpu_raise_gp(volatile uint64_t *vcpu)
{
    vcpu[VCPU_INJECT] = EXCEPTION_GP | INJECT_EXCEPTION | INJECT_ERROR_CODE | INJECT_VALID;
}

static inline void vcpu_raise_ud(volatile uint64_t *vcpu)
{
    vcpu[VCPU_INJECT] = EXCEPTION_UD | INJECT_EXCEPTION | INJECT_VALID;
}

static inline void vcpu_raise_pf(volatile uint64_t *vcpu, uint64_t address, uint64_t error_code)
{
    vcpu[VCPU_CR2] = address;
    vcpu[VCPU_CHANGED] |= VCPU_CHANGED_CONTROL;
    vcpu[VCPU_INJECT] = EXCEPTION_PF | INJECT_EXCEPTION | INJECT_ERROR_CODE | INJECT_VALID | error_code << 32;
}

/* Start for Linux' 64-bit boot protocol: long mode with paging by the tables at `cr3`, flat segments from the
 * descriptor table at `gdt`, interrupts off, rsi = the zero page. */
void vcpu_start_64(volatile uint64_t *vcpu, uint64_t rip, uint64_t cr3, uint64_t gdt, uint64_t zero_page);
/* Start by the PVH protocol: 32-bit protected mode without paging, flat segments, rbx = the start information. */
void vcpu_start_32(volatile uint64_t *vcpu, uint64_t rip, uint64_t start_info);
/* Start as a processor does when it is reset: real mode, 16 bytes below the end of the first 4 GiB. */
void vcpu_start_reset(volatile uint64_t *vcpu);
/* Start by a start-up message: real mode, at page `vector`. The time-stamp counter goes on, as it does on processors. */
void vcpu_start_real(volatile uint64_t *vcpu, uint32_t vector);

#endif
