/* AMD SVM with nested paging: enabling it, and running a guest until its monitor is needed.
 *
 * Each virtual machine has its own address space identifier, vm + 1, and a guest stays on one CPU. So its
 * translations survive exits, until an entry of its nested map is removed. */
#include "guest/svm.h"

#include "abi.h"
#include "arch.h"
#include "cpu/cpu.h"
#include "cpu/mitigations.h"
#include "thread/fpu.h"
#include "layout.h"
#include "guest/vmcb.h"

#define CPUID_SVM_LEAF 0x8000000au
#define CPUID_SVM (1u << 2)         /* leaf 0x80000001, ecx */
#define SVM_NESTED_PAGING (1u << 0) /* leaf 0x8000000a, edx */
#define SVM_NEXT_RIP (1u << 3)
#define SVM_FLUSH_ASID (1u << 6)
#define SVM_DECODE_ASSISTS (1u << 7)
#define VM_CR_SVM_DISABLED (1ul << 4)

#define IOPM_BYTES 12288u
#define MSRPM_BYTES 8192u

struct svm_guest svm_guest[NUM_VM];
uint32_t svm_has_next_rip;
uint32_t svm_has_decode_assists;

static uint32_t has_flush_asid;

static uint8_t guest_block[NUM_VM][VMCB_BYTES] __attribute__((aligned(4096)));
static uint8_t host_block[NUM_CPU][VMCB_BYTES] __attribute__((aligned(4096)));     /* the host's vmsave state */
static uint8_t host_save_area[NUM_CPU][VMCB_BYTES] __attribute__((aligned(4096))); /* vmrun's own */
static uint8_t io_permissions[IOPM_BYTES] __attribute__((aligned(4096)));          /* bit set: exit */
static uint8_t msr_permissions[MSRPM_BYTES] __attribute__((aligned(4096)));        /* two bits each: read, write */

void svm_enter(uint64_t guest_vmcb, uint64_t *gpr, uint64_t host_vmcb);

/* Of an object in the kernel's image. */
static uint64_t physical_address(const void *object)
{
    return (uint64_t)object - KERNEL_BASE;
}

/* ---- access to a control block ---- */

uint64_t *svm_block(uint32_t vm)
{
    return (uint64_t *)guest_block[vm];
}

uint64_t vmcb_get(uint32_t vm, uint32_t offset)
{
    return *(volatile uint64_t *)(guest_block[vm] + offset);
}

void vmcb_set(uint32_t vm, uint32_t offset, uint64_t value)
{
    *(volatile uint64_t *)(guest_block[vm] + offset) = value;
}

uint32_t vmcb_get32(uint32_t vm, uint32_t offset)
{
    return *(volatile uint32_t *)(guest_block[vm] + offset);
}

void vmcb_set32(uint32_t vm, uint32_t offset, uint32_t value)
{
    *(volatile uint32_t *)(guest_block[vm] + offset) = value;
}

/* ---- start-up ---- */

/* Registers that vmload and vmsave switch, so a guest may use them without an exit. */
static const uint32_t own_msr[] = {
    0x174,      0x175,      0x176,                  /* sysenter cs esp eip */
    0xc0000081, 0xc0000082, 0xc0000083, 0xc0000084, /* star lstar cstar sfmask */
    0xc0000100, 0xc0000101, 0xc0000102,             /* fs gs kernel_gs base */
};

static void permissions_init(void)
{
    for (uint32_t i = 0; i < IOPM_BYTES; i++) {
        io_permissions[i] = 0xff;
    }
    for (uint32_t i = 0; i < MSRPM_BYTES; i++) {
        msr_permissions[i] = 0xff;
    }
    for (uint32_t i = 0; i < sizeof own_msr / sizeof own_msr[0]; i++) {
        uint32_t base = own_msr[i] >= 0xc0000000 ? 0x800 : 0; /* byte where this range of registers begins */
        uint32_t bit = (own_msr[i] & 0x1fff) * 2;
        msr_permissions[base + bit / 8] &= (uint8_t) ~(3u << bit % 8);
    }
}

uint32_t svm_init_cpu(void)
{
    uint32_t cpu = arch_cpu();
    struct cpuid leaf = cpuid(0x80000001, 0);
    if (!(leaf.ecx & CPUID_SVM) || (read_msr(MSR_VM_CR) & VM_CR_SVM_DISABLED)) {
        return 0;
    }
    leaf = cpuid(CPUID_SVM_LEAF, 0);
    if (!(leaf.edx & SVM_NESTED_PAGING) || leaf.ebx <= NUM_VM) {
        return 0;
    }
    write_msr(MSR_EFER, read_msr(MSR_EFER) | EFER_SVME);
    write_msr(MSR_VM_HSAVE_PA, physical_address(host_save_area[cpu]));
    __asm__ volatile("vmsave %0" : : "a"(physical_address(host_block[cpu])) : "memory");
    if (cpu == 0) {
        permissions_init();
        svm_has_next_rip = !!(leaf.edx & SVM_NEXT_RIP);
        svm_has_decode_assists = !!(leaf.edx & SVM_DECODE_ASSISTS);
        has_flush_asid = !!(leaf.edx & SVM_FLUSH_ASID);
        svm_tcg_init();
    }
    return 1;
}

/* ---- nested page maps: the format of ordinary ones, every access is a user access ---- */

uint64_t svm_nested_entry(uint32_t frame, uint32_t prot)
{
    uint64_t entry = (uint64_t)frame << ARCH_PTE_FRAME_SHIFT | ARCH_PTE_PRESENT | ARCH_PTE_USER;
    if (prot & PROT_WRITE) {
        entry |= ARCH_PTE_WRITE;
    }
    if (!(prot & PROT_EXEC)) {
        entry |= ARCH_PTE_NO_EXECUTE;
    }
    return entry;
}

uint64_t svm_nested_table(uint32_t frame)
{
    return (uint64_t)frame << ARCH_PTE_FRAME_SHIFT | ARCH_PTE_PRESENT | ARCH_PTE_USER | ARCH_PTE_WRITE;
}

/* ---- the guest ---- */

void svm_control_init(uint32_t vm)
{
    for (uint32_t offset = 0; offset < VMCB_BYTES; offset += 8) {
        vmcb_set(vm, offset, 0);
    }
    /* #DB and #AC: a guest could make the processor raise them endlessly, with no interrupt served in between. */
    vmcb_set32(vm, VMCB_INTERCEPT_EXCEPTION,
               1u << EXCEPTION_DEBUG | 1u << EXCEPTION_ALIGNMENT | 1u << EXCEPTION_MACHINE_CHECK);
    vmcb_set32(vm, VMCB_INTERCEPT_1,
               INTERCEPT_1_INTR | INTERCEPT_1_NMI | INTERCEPT_1_SMI | INTERCEPT_1_INIT | INTERCEPT_1_RDPMC |
                   INTERCEPT_1_CPUID | INTERCEPT_1_INVD | INTERCEPT_1_HLT | INTERCEPT_1_INVLPGA | INTERCEPT_1_IOIO |
                   INTERCEPT_1_MSR | INTERCEPT_1_TASK_SWITCH | INTERCEPT_1_FERR_FREEZE | INTERCEPT_1_SHUTDOWN);
    vmcb_set32(vm, VMCB_INTERCEPT_2,
               INTERCEPT_2_VMRUN | INTERCEPT_2_VMMCALL | INTERCEPT_2_VMLOAD | INTERCEPT_2_VMSAVE | INTERCEPT_2_STGI |
                   INTERCEPT_2_CLGI | INTERCEPT_2_SKINIT | INTERCEPT_2_WBINVD | INTERCEPT_2_MONITOR |
                   INTERCEPT_2_MWAIT | INTERCEPT_2_XSETBV | INTERCEPT_2_RDPRU);
    vmcb_set(vm, VMCB_IOPM_BASE, physical_address(io_permissions));
    vmcb_set(vm, VMCB_MSRPM_BASE, physical_address(msr_permissions));
    vmcb_set32(vm, VMCB_ASID, vm + 1);
    vmcb_set(vm, VMCB_NESTED_CONTROL, 1);
    vmcb_set(vm, VMCB_INT_CONTROL, INT_CONTROL_MASKING);
}

void svm_vcpu_init(uint32_t vm)
{
    svm_guest[vm] = (struct svm_guest){0};
    svm_control_init(vm);
    svm_reset_state(vm);
    svm_debug_reset(vm);
    fpu_reset_guest(vm);
}

void svm_vcpu_flush(uint32_t vm)
{
    __atomic_store_n(&svm_guest[vm].flush, 1, __ATOMIC_RELEASE);
}

static void prepare_entry(uint32_t vm, uint32_t nested_root)
{
    uint32_t intercepts = vmcb_get32(vm, VMCB_INTERCEPT_1) & ~INTERCEPT_1_VINTR;
    uint64_t control = (vmcb_get(vm, VMCB_INT_CONTROL) & INT_CONTROL_TPR) | INT_CONTROL_MASKING;
    uint32_t tlb = TLB_CONTROL_KEEP;
    if (svm_guest[vm].window) {
        /* A virtual interrupt of the highest priority whose delivery exits, so that it is never delivered. */
        intercepts |= INTERCEPT_1_VINTR;
        control |= INT_CONTROL_IRQ | INT_CONTROL_PRIORITY | INT_CONTROL_IGNORE_TPR;
    }
    if (__atomic_exchange_n(&svm_guest[vm].flush, 0, __ATOMIC_ACQ_REL)) {
        tlb = has_flush_asid ? TLB_CONTROL_FLUSH_ASID : TLB_CONTROL_FLUSH_ALL;
    }
    vmcb_set32(vm, VMCB_INTERCEPT_1, intercepts);
    vmcb_set(vm, VMCB_INT_CONTROL, control);
    vmcb_set32(vm, VMCB_TLB_CONTROL, tlb);
    vmcb_set(vm, VMCB_NESTED_CR3, (uint64_t)nested_root << ARCH_PTE_FRAME_SHIFT);
    vmcb_set32(vm, VMCB_CLEAN, 0);
    svm_long_mode_prepare(vm);
    svm_debug_enter(vm);
}

/* Injects the exception that the guest raised. Returns 1; 0 if it arose during the delivery of another event, which
 * the guest cannot recover from. */
static uint32_t reinject_exception(uint32_t vm, uint64_t vector)
{
    uint64_t event = EVENT_VALID | (uint64_t)EVENT_TYPE_EXCEPTION << EVENT_TYPE_SHIFT | vector;
    if (vector == EXCEPTION_ALIGNMENT) {
        event |= EVENT_HAS_ERROR_CODE | vmcb_get(vm, VMCB_EXIT_INFO1) << 32;
    }
    if (vmcb_get(vm, VMCB_EVENT_INJECT) & EVENT_VALID) {
        return 0;
    }
    vmcb_set(vm, VMCB_EVENT_INJECT, event);
    return 1;
}

/* Handles exits that need no monitor. 1 if the guest can continue, else 0. */
static uint32_t handled_here(uint32_t vm, uint32_t code)
{
    if (code == SVM_EXIT_CPUID) {
        return svm_cpuid_handle(vm);
    }
    if (code >= SVM_EXIT_READ_DR0 && code <= SVM_EXIT_WRITE_DR15) {
        return svm_debug_handle(vm);
    }
    return svm_long_mode_handle(vm, code);
}

/* VCPU_EXIT_* of an exit that the loop does not continue after. */
static uint32_t leave(uint32_t vm, uint32_t code)
{
    if (code >= SVM_EXIT_INTR && code <= SVM_EXIT_INIT) {
        return VCPU_EXIT_NONE;
    }
    /* The guest gets its exception, but not in this loop: a guest whose handler raises the same exception again would keep
     * it turning, and no interrupt would be served (CVE-2015-8104), since exceptions come before interrupts. */
    if ((code == SVM_EXIT_EXCEPTION + EXCEPTION_DEBUG || code == SVM_EXIT_EXCEPTION + EXCEPTION_ALIGNMENT) &&
        reinject_exception(vm, code - SVM_EXIT_EXCEPTION)) {
        return VCPU_EXIT_NONE;
    }
    return svm_exit_reason(vm, code);
}

/* Requires: interrupts off. Each turn of the loop lets the guest execute an instruction, so that an interrupt that waits ends
 * it at the next entry. */
uint32_t svm_vcpu_enter(uint32_t vm, uint32_t nested_root)
{
    uint64_t block = physical_address(guest_block[vm]);
    uint64_t host = physical_address(host_block[arch_cpu()]);
    uint32_t code;
    mitigations_around_guest();
    do {
        prepare_entry(vm, nested_root);
        svm_tcg_before_entry(vm);
        svm_enter(block, svm_guest[vm].gpr, host);
        svm_tcg_after_exit();
        code = vmcb_get32(vm, VMCB_EXIT_CODE);
        /* The injected event has been delivered, or is reported here again. */
        vmcb_set(vm, VMCB_EVENT_INJECT, svm_event_again(vmcb_get(vm, VMCB_EXIT_INT_INFO)));
        if (fpu_repair_components()) {
            code = SVM_EXIT_XSETBV;
            break;
        }
    } while (handled_here(vm, code));
    svm_debug_leave(vm);
    mitigations_around_guest();
    return leave(vm, code);
}
