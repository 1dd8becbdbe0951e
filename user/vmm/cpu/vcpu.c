/* Start state of the virtual CPU. */
#include "cpu/vcpu.h"

#define SEGMENT(selector, attributes) ((selector) | (uint64_t)(attributes) << 16 | 0xffffffffull << 32)
#define CODE_64 0xa9bu /* execute/read, accessed, present, long, page granular */
#define DATA 0xc93u
#define TSS_BUSY 0x08bu
#define LDT 0x082u

enum { ES, CS, SS, DS, FS, GS, LDTR, TR };

static void set_segment(uint32_t index, uint64_t packed)
{
    vcpu[VCPU_SEGMENT + 2 * index] = packed;
    vcpu[VCPU_SEGMENT + 2 * index + 1] = 0;
}

void vcpu_reset(uint64_t rip, uint64_t cr3, uint64_t gdt, uint64_t zero_page)
{
    for (uint32_t i = 0; i < VCPU_WORDS; i++) {
        vcpu[i] = 0;
    }
    vcpu[VCPU_RIP] = rip;
    vcpu[VCPU_RFLAGS] = 2;
    vcpu[VCPU_CR0] = CR0_PG | 0x20 | 0x10 | CR0_PE; /* NE and ET as after a PC's start-up */
    vcpu[VCPU_CR3] = cr3;
    vcpu[VCPU_CR4] = CR4_PAE;
    vcpu[VCPU_EFER] = EFER_LME | EFER_LMA;
    vcpu[VCPU_DR6] = 0xffff0ff0;
    vcpu[VCPU_DR7] = 0x400;
    vcpu[VCPU_PAT] = 0x0007040600070406ul;
    set_segment(CS, SEGMENT(0x10u, CODE_64));
    set_segment(ES, SEGMENT(0x18u, DATA));
    set_segment(SS, SEGMENT(0x18u, DATA));
    set_segment(DS, SEGMENT(0x18u, DATA));
    set_segment(FS, SEGMENT(0x18u, DATA));
    set_segment(GS, SEGMENT(0x18u, DATA));
    set_segment(LDTR, (uint64_t)LDT << 16 | 0xffffull << 32);
    set_segment(TR, (uint64_t)TSS_BUSY << 16 | 0xffffull << 32);
    vcpu[VCPU_GDTR] = 31;
    vcpu[VCPU_GDTR + 1] = gdt;
    vcpu_set_reg(RSI, zero_page);
    vcpu[VCPU_CHANGED] = VCPU_CHANGED_CONTROL | VCPU_CHANGED_SEGMENTS | VCPU_CHANGED_MSRS | VCPU_CHANGED_DEBUG;
}
