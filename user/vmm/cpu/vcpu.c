/* Start states of a virtual CPU. */
#include "cpu/vcpu.h"

#define SEGMENT(selector, attributes) ((selector) | (uint64_t)(attributes) << 16 | 0xffffffffull << 32)
#define CODE_64 0xa9bu /* execute/read, accessed, present, long, page granular */
#define CODE_32 0xc9bu
#define DATA 0xc93u
#define CODE_REAL 0x09bu
#define DATA_REAL 0x093u
#define TSS_BUSY 0x08bu
#define LDT 0x082u
#define SMALL (0xffffull << 32) /* limit */

static void set_segment(volatile uint64_t *vcpu, uint32_t index, uint64_t packed)
{
    vcpu[VCPU_SEGMENT + 2 * index] = packed;
    vcpu[VCPU_SEGMENT + 2 * index + 1] = 0;
}

/* All but the time-stamp counter; the same code and data segments for all starts. */
static void reset(volatile uint64_t *vcpu, uint64_t code, uint64_t data)
{
    static const uint32_t data_segments[] = {SEGMENT_ES, SEGMENT_SS, SEGMENT_DS, SEGMENT_FS, SEGMENT_GS};
    uint64_t tsc_offset = vcpu[VCPU_TSC_OFFSET];
    for (uint32_t i = 0; i < VCPU_WORDS; i++) {
        vcpu[i] = 0;
    }
    vcpu[VCPU_TSC_OFFSET] = tsc_offset;
    vcpu[VCPU_RFLAGS] = 2;
    vcpu[VCPU_DR6] = 0xffff0ff0;
    vcpu[VCPU_DR7] = 0x400;
    vcpu[VCPU_PAT] = 0x0007040600070406ul;
    set_segment(vcpu, SEGMENT_CS, code);
    for (uint32_t i = 0; i < sizeof data_segments / sizeof data_segments[0]; i++) {
        set_segment(vcpu, data_segments[i], data);
    }
    set_segment(vcpu, SEGMENT_LDTR, (uint64_t)LDT << 16 | SMALL);
    set_segment(vcpu, SEGMENT_TR, (uint64_t)TSS_BUSY << 16 | SMALL);
    vcpu[VCPU_CHANGED] = VCPU_CHANGED_CONTROL | VCPU_CHANGED_SEGMENTS | VCPU_CHANGED_MSRS | VCPU_CHANGED_DEBUG;
}

void vcpu_start_64(volatile uint64_t *vcpu, uint64_t rip, uint64_t cr3, uint64_t gdt, uint64_t zero_page)
{
    reset(vcpu, SEGMENT(0x10u, CODE_64), SEGMENT(0x18u, DATA));
    vcpu[VCPU_RIP] = rip;
    vcpu[VCPU_CR0] = CR0_PG | CR0_NE | CR0_ET | CR0_PE; /* NE and ET as after a PC's start-up */
    vcpu[VCPU_CR3] = cr3;
    vcpu[VCPU_CR4] = CR4_PAE;
    vcpu[VCPU_EFER] = EFER_LME | EFER_LMA;
    vcpu[VCPU_GDTR] = 31;
    vcpu[VCPU_GDTR + 1] = gdt;
    vcpu_set_reg(vcpu, RSI, zero_page);
}

void vcpu_start_32(volatile uint64_t *vcpu, uint64_t rip, uint64_t start_info)
{
    reset(vcpu, SEGMENT(0x10u, CODE_32), SEGMENT(0x18u, DATA));
    vcpu[VCPU_RIP] = rip;
    vcpu[VCPU_CR0] = CR0_NE | CR0_ET | CR0_PE;
    vcpu_set_reg(vcpu, RBX, start_info);
}

/* Real mode, with a code segment. */
static void start_real(volatile uint64_t *vcpu, uint64_t selector, uint64_t base)
{
    reset(vcpu, selector | (uint64_t)CODE_REAL << 16 | SMALL, (uint64_t)DATA_REAL << 16 | SMALL);
    vcpu[VCPU_SEGMENT + 2 * SEGMENT_CS + 1] = base;
    vcpu[VCPU_CR0] = CR0_ET;
    vcpu[VCPU_GDTR] = 0xffff;
    vcpu[VCPU_IDTR] = 0xffff;
    vcpu_set_reg(vcpu, RDX, 0x600); /* a family, as after a reset */
}

void vcpu_start_reset(volatile uint64_t *vcpu)
{
    start_real(vcpu, 0xf000, 0xffff0000);
    vcpu[VCPU_RIP] = 0xfff0;
}

void vcpu_start_real(volatile uint64_t *vcpu, uint32_t vector)
{
    start_real(vcpu, (uint64_t)vector << 8, (uint64_t)vector << 12);
}
