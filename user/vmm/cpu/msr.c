/* Model-specific registers. */
#include "cpu/msr.h"

#include "clock.h"
#include "cpu/features.h"
#include "cpu/ipi.h"
#include "cpu/pvclock.h"
#include "guest.h"
#include "machine.h"

#define MSR_TSC 0x10u
#define MSR_APIC_BASE 0x1bu
#define MSR_TSC_DEADLINE 0x6e0u
#define MSR_SHARED_END 0x4b564d04u /* of KVM: address of a word, bit 0: in use */
#define SHARED_END_USED 1ul
#define MSR_EFER 0xc0000080u
#define MSR_FS_BASE 0xc0000100u
#define MSR_GS_BASE 0xc0000101u
#define SEGMENT_FS_BASE (VCPU_SEGMENT + 2 * 4 + 1)
#define SEGMENT_GS_BASE (VCPU_SEGMENT + 2 * 5 + 1)
#define MSR_HWCR 0xc0010015u       /* hardware configuration */
#define HWCR_TSC_AT_P0 0x1000000ul /* the TSC does not change with the clock rate */
#define EFER_ALLOWED 0x4d01ul      /* SCE LME LMA NXE FFXSR */

/* Index in the vcpu page of a register that stands there, or 0. */
static uint32_t page_word(uint32_t msr)
{
    switch (msr) {
    case MSR_EFER:
        return VCPU_EFER;
    case MSR_FS_BASE:
        return SEGMENT_FS_BASE;
    case MSR_GS_BASE:
        return SEGMENT_GS_BASE;
    case 0xc0000102u:
        return VCPU_KERNEL_GS_BASE;
    case 0xc0000081u:
        return VCPU_STAR;
    case 0xc0000082u:
        return VCPU_LSTAR;
    case 0xc0000083u:
        return VCPU_CSTAR;
    case 0xc0000084u:
        return VCPU_SFMASK;
    case 0x174u:
        return VCPU_SYSENTER_CS;
    case 0x175u:
        return VCPU_SYSENTER_ESP;
    case 0x176u:
        return VCPU_SYSENTER_EIP;
    case 0x277u:
        return VCPU_PAT;
    default:
        return 0;
    }
}

/* The group of the vcpu page that the kernel must load anew. */
static uint64_t changed_group(uint32_t word)
{
    if (word == VCPU_EFER || word == VCPU_PAT) {
        return VCPU_CHANGED_CONTROL;
    }
    return word >= VCPU_KERNEL_GS_BASE ? VCPU_CHANGED_MSRS : VCPU_CHANGED_SEGMENTS;
}

/* Returns 0 if the value is refused. */
static uint32_t set_shared_end(struct cpu *cpu, uint64_t value)
{
    uint64_t address = value & ~SHARED_END_USED;
    volatile uint32_t *word = guest_pointer(address, sizeof *word);
    if ((value & SHARED_END_USED) == 0) {
        word = 0;
    } else if (address % sizeof *word != 0 || word == 0) {
        return 0;
    }
    lapic_share_end(&cpu->lapic, word);
    return 1;
}

/* Registers that read as zero and ignore writes: microcode revision, platform id, AMD's configuration registers,
 * machine-check, MTRR, debug and performance controls that Linux touches because of the CPU's family alone. */
static uint32_t is_inert(uint32_t msr)
{
    switch (msr) {
    case 0x17u: /* platform id */
    case 0x8bu: /* microcode level */
    case 0xfeu: /* MTRR capabilities: none */
    case 0x2ffu:
    case 0x179u: /* machine-check capabilities: none */
    case 0x17au:
    case 0x17bu:
    case 0x1a0u:
    case 0x1d9u:      /* debug control */
    case 0xc0000103u: /* TSC_AUX */
    case 0xc0000408u:
    case 0xc001001fu: /* northbridge configuration */
    case 0xc0010010u: /* system configuration */
    case 0xc0010055u: /* interrupt pending message */
    case 0xc0010058u:
    case 0xc0010064u: /* P-state */
    case 0xc0010112u: /* system management */
    case 0xc0010113u:
    case 0xc0010114u:
    case 0xc0010117u:
    case 0xc0011020u: /* load-store configuration */
    case 0xc0011021u:
    case 0xc0011022u:
    case 0xc0011029u: /* decode configuration */
    case 0xc001102au:
        return 1;
    default:
        return 0;
    }
}

static uint32_t is_x2apic(const struct cpu *cpu, uint32_t msr)
{
    return msr >= LAPIC_MSR && msr <= LAPIC_MSR_END && lapic_is_wide(&cpu->lapic);
}

/* Reads a register that does not stand in the page. Returns 0 if there is none. */
static uint32_t read_other(struct cpu *cpu, uint32_t msr, uint64_t *value)
{
    if (is_x2apic(cpu, msr)) {
        return lapic_msr_read(&cpu->lapic, msr, clock_now(), value);
    }
    switch (msr) {
    case MSR_TSC:
        *value = clock_tsc() + cpu->page[VCPU_TSC_OFFSET];
        return 1;
    case MSR_HWCR:
        *value = HWCR_TSC_AT_P0;
        return 1;
    case MSR_APIC_BASE:
        *value = cpu->lapic.base;
        return 1;
    case MSR_TSC_DEADLINE:
        *value = cpu->lapic.deadline;
        return 1;
    default:
        return is_inert(msr);
    }
}

void msr_read_exit(struct cpu *cpu)
{
    volatile uint64_t *vcpu = cpu->page;
    uint32_t msr = (uint32_t)vcpu_reg(vcpu, RCX);
    uint32_t word = page_word(msr);
    uint64_t value = 0;
    if (word != 0) {
        value = vcpu[word];
        if (msr == MSR_EFER) {
            value &= EFER_ALLOWED; /* hides what the hardware needs set for guests */
        }
    } else if (read_other(cpu, msr, &value) == 0) {
        vcpu_raise_gp(vcpu);
        return;
    }
    vcpu_set_reg(vcpu, RAX, (uint32_t)value);
    vcpu_set_reg(vcpu, RDX, value >> 32);
    vcpu_skip(vcpu, 2);
}

/* Returns 0 if the value is refused. */
static uint32_t write_efer(volatile uint64_t *vcpu, uint64_t value)
{
    /* LMA follows the processor's mode, LME can't change while paging is on. */
    uint64_t kept = EFER_LMA | (vcpu[VCPU_CR0] & CR0_PG ? EFER_LME : 0);
    if ((value & ~EFER_ALLOWED) != 0 || ((value ^ vcpu[VCPU_EFER]) & kept & EFER_LME) != 0) {
        return 0;
    }
    vcpu[VCPU_EFER] = (value & ~kept) | (vcpu[VCPU_EFER] & kept);
    vcpu[VCPU_CHANGED] |= VCPU_CHANGED_CONTROL;
    return 1;
}

/* Returns 0 if there is no such register, or it refuses the value. */
static uint32_t write_register(struct cpu *cpu, uint32_t msr, uint64_t value)
{
    volatile uint64_t *vcpu = cpu->page;
    uint32_t word = page_word(msr);
    if (msr == MSR_EFER) {
        return write_efer(vcpu, value);
    }
    if (word != 0) {
        vcpu[word] = value;
        vcpu[VCPU_CHANGED] |= changed_group(word);
        return 1;
    }
    switch (msr) {
    case MSR_TSC:
        vcpu[VCPU_TSC_OFFSET] = value - clock_tsc();
        return 1;
    case MSR_APIC_BASE:
        return lapic_set_base(&cpu->lapic, value, (machine.features & FEATURE_X2APIC) != 0);
    case MSR_SHARED_END:
        return (machine.features & FEATURE_END) != 0 && set_shared_end(cpu, value);
    case PVCLOCK_MSR_WALL:
        return (machine.features & FEATURE_CLOCK) != 0 && pvclock_set_wall(value);
    case PVCLOCK_MSR_SYSTEM:
        return (machine.features & FEATURE_CLOCK) != 0 &&
               pvclock_set_system(value, vcpu[VCPU_TSC_OFFSET] - machine.tsc_offset);
    default:
        return msr == MSR_HWCR || is_inert(msr);
    }
}

void msr_write_exit(struct cpu *cpu)
{
    volatile uint64_t *vcpu = cpu->page;
    uint32_t msr = (uint32_t)vcpu_reg(vcpu, RCX);
    uint64_t value = (uint32_t)vcpu_reg(vcpu, RAX) | vcpu_reg(vcpu, RDX) << 32;
    uint32_t done = 1;
    if (msr == MSR_TSC_DEADLINE) { /* first: every tick comes here */
        lapic_set_deadline(&cpu->lapic, value, clock_tsc() + vcpu[VCPU_TSC_OFFSET], clock_now());
    } else if (is_x2apic(cpu, msr)) {
        done = lapic_msr_write(&cpu->lapic, msr, value, clock_now());
        ipi_follow(cpu);
    } else {
        done = write_register(cpu, msr, value);
    }
    if (done) {
        vcpu_skip(vcpu, 2);
    } else {
        vcpu_raise_gp(vcpu);
    }
}
