/* Required processor features, and the set-up of each CPU. */
#include "cpu/cpu.h"
#include "cpu/percpu.h"
#include "guest/guest.h"

#define CR0_MP 0x2ul
#define CR0_EM 0x4ul
#define CR0_NE 0x20ul
#define CR0_WP 0x10000ul
#define CR0_CACHE_DISABLE 0x60000000ul
#define CR4_TSD 0x4ul
#define CR4_PSE 0x10ul
#define CR4_PGE 0x80ul
#define CR4_MCE 0x40ul
#define CR4_PCE 0x100ul
#define CR4_OSFXSR 0x200ul
#define CR4_OSXMMEXCPT 0x400ul
#define CR4_UMIP 0x800ul
#define CR4_FSGSBASE 0x10000ul
#define CR4_SMEP 0x100000ul
#define CR4_SMAP 0x200000ul

/* Flags cleared at a system call: TF IF DF IOPL NT RF AC VIF VIP ID stays the user's own. */
#define SYSCALL_FLAG_MASK 0x1d7700u

extern void arch_syscall_entry(void);

struct feature {
    uint32_t leaf;
    uint32_t in_edx; /* 1 edx, 0 ecx */
    uint32_t bit;
    const char *name;
};

static const struct feature needed[] = {
    {1, 1, 0, "FPU"},
    {1, 1, 4, "TSC (time stamp counter)"},
    {1, 1, 5, "MSR"},
    {1, 1, 9, "APIC (local interrupt controller)"},
    {1, 1, 13, "PGE (global pages)"},
    {1, 1, 24, "FXSR"},
    {1, 1, 25, "SSE"},
    {1, 1, 26, "SSE2"},
    {0x80000001, 1, 11, "SYSCALL"},
    {0x80000001, 1, 20, "NX (no-execute pages)"},
};

const char *cpu_missing_feature(void)
{
    uint32_t highest = cpuid(0x80000000, 0).eax;
    for (uint32_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        struct cpuid r = {0, 0, 0, 0};
        if (needed[i].leaf < 0x80000000 || needed[i].leaf <= highest) {
            r = cpuid(needed[i].leaf, 0);
        }
        if (((needed[i].in_edx ? r.edx : r.ecx) >> needed[i].bit & 1) == 0) {
            return needed[i].name;
        }
    }
    return 0;
}

void cpu_init(void)
{
    struct cpuid extended = {0, 0, 0, 0};
    uint64_t cr4 = read_cr4();

    if (cpuid(0, 0).eax >= 7) {
        extended = cpuid(7, 0);
    }
    write_cr0((read_cr0() & ~(CR0_EM | CR0_CACHE_DISABLE)) | CR0_MP | CR0_NE | CR0_WP | CR0_TS);
    cr4 &= ~(CR4_TSD | CR4_PCE | CR4_FSGSBASE); /* users may use rdtsc, but not performance counters */
    /* PSE has no effect in 64-bit mode, but guests set it: if host and guest agree, an emulator flushes its
     * translations less often on guest entry and exit. */
    cr4 |= CR4_PSE | CR4_PGE | CR4_MCE | CR4_OSFXSR | CR4_OSXMMEXCPT;
    if ((extended.ebx & 1u << 7) != 0) {
        cr4 |= CR4_SMEP;
    }
    if ((extended.ebx & 1u << 20) != 0) {
        cr4 |= CR4_SMAP;
    }
    if ((extended.ecx & 1u << 2) != 0) {
        cr4 |= CR4_UMIP;
    }
    write_cr4(cr4);
    write_msr(MSR_EFER, read_msr(MSR_EFER) | EFER_SCE | EFER_NXE);
    write_msr(MSR_STAR, (uint64_t)SELECTOR_SYSRET_BASE << 48 | (uint64_t)SELECTOR_KERNEL_CODE << 32);
    write_msr(MSR_LSTAR, (uint64_t)&arch_syscall_entry);
    write_msr(MSR_SFMASK, SYSCALL_FLAG_MASK);
    fpu_init_cpu();
    guest_init_cpu(); /* last: it saves the system-call registers, to restore them after guest exits */
}
