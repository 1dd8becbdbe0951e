/* What VT-x needs of each CPU: the checks, the control structure with all that never changes, the instructions. */
#include "arch.h"
#include "cpu/cpu.h"
#include "cpu/percpu.h"
#include "layout.h"
#include "vmx/vmcs.h"
#include "vmx/vmx.h"

#define CPUID_VMX (1u << 5) /* leaf 1, ecx */
#define MSR_FEATURE_CONTROL 0x3au
#define FEATURE_LOCKED 1ul
#define FEATURE_VMX 4ul
#define MSR_PAT 0x277u
#define MSR_SYSENTER 0x174u /* cs esp eip */
#define MSR_VMX_BASIC 0x480u
#define BASIC_TRUE_CONTROLS (1ul << 55)
#define MSR_VMX_SECONDARY 0x48bu
#define MSR_VMX_EPT_VPID 0x48cu
#define MSR_VMX_TRUE_PIN 0x48du /* primary exit entry */
#define CAPABLE_FOUR_LEVELS (1ul << 6)
#define CAPABLE_WRITE_BACK (1ul << 14)
#define CAPABLE_INVEPT (1ul << 20)
#define CAPABLE_INVEPT_SINGLE (1ul << 25)
#define CAPABLE_INVEPT_ALL (1ul << 26)
#define INVEPT_SINGLE 1ul
#define INVEPT_ALL 2ul
#define PIN_CONTROLS (PIN_INTERRUPT | PIN_NMI | PIN_VIRTUAL_NMI)
/* All I/O exits, as all accesses of MSRs but those in the bitmap. */
#define PRIMARY_CONTROLS                                                                                               \
    (PRIMARY_TSC_OFFSET | PRIMARY_HLT | PRIMARY_MWAIT | PRIMARY_RDPMC | PRIMARY_TPR_SHADOW | PRIMARY_IO |              \
     PRIMARY_MSR_BITMAP | PRIMARY_MONITOR | PRIMARY_SECONDARY)
#define SECONDARY_CONTROLS (SECONDARY_EPT | SECONDARY_VPID | SECONDARY_WBINVD | SECONDARY_UNRESTRICTED)
#define EXIT_CONTROLS                                                                                                  \
    (EXIT_DEBUG_CONTROLS | EXIT_HOST_64 | EXIT_SAVE_PAT | EXIT_LOAD_PAT | EXIT_SAVE_EFER | EXIT_LOAD_EFER)
#define ENTRY_CONTROLS (ENTRY_DEBUG_CONTROLS | ENTRY_LOAD_PAT | ENTRY_LOAD_EFER)
/* #DB and #AC: a guest could make the processor raise them endlessly, with no interrupt served in between. */
#define EXCEPTIONS (1u << EXCEPTION_DEBUG | 1u << EXCEPTION_ALIGNMENT | 1u << EXCEPTION_MACHINE_CHECK)

static uint8_t on_region[NUM_CPU][4096] __attribute__((aligned(4096))); /* vmxon's own */
static uint8_t structure[NUM_CPU][4096] __attribute__((aligned(4096)));
static uint8_t msr_bitmap[4096] __attribute__((aligned(4096))); /* bit set: exit; 0 up, 0xc0000000 up; reads, writes */
static struct vmx_msr host_msr[NUM_CPU][VMX_NUM_MSR] __attribute__((aligned(64)));
static uint32_t owner[NUM_CPU];    /* guest whose state the CPU's structure holds, or NONE */
static uint32_t launched[NUM_CPU]; /* 1: the CPU's structure has been launched */
static uint32_t pin, primary, secondary, exit_controls, entry_controls; /* as the processor allows them */
static uint64_t drop_type;

struct vmx_msr vmx_guest_msr[NUM_VM][VMX_NUM_MSR] __attribute__((aligned(64)));
uint8_t vmx_virtual_apic[NUM_VM][4096] __attribute__((aligned(4096)));

static const uint32_t switched_msr[VMX_NUM_MSR] = {MSR_STAR, MSR_LSTAR, MSR_CSTAR, MSR_SFMASK, MSR_KERNEL_GS_BASE};

/* Registers that entries and exits switch, so a guest may use them without an exit. */
static const uint32_t own_msr[] = {
    0x174,      0x175,      0x176, /* sysenter cs esp eip */
    0xc0000081, 0xc0000082, 0xc0000083, 0xc0000084, 0xc0000100, 0xc0000101, 0xc0000102,
};

/* Of an object in the kernel's image. */
static uint64_t physical_address(const void *object)
{
    return (uint64_t)object - KERNEL_BASE;
}

uint64_t vmx_read(uint32_t field)
{
    uint64_t value;
    __asm__ volatile("vmread %1, %0" : "=r"(value) : "r"((uint64_t)field) : "cc");
    return value;
}

void vmx_write(uint32_t field, uint64_t value)
{
    __asm__ volatile("vmwrite %0, %1" : : "r"(value), "r"((uint64_t)field) : "cc");
}

uint32_t vmx_primary_controls(void)
{
    return primary;
}

uint32_t vmx_entry_controls(void)
{
    return entry_controls;
}

/* ---- checks ---- */

/* The controls of a capability register: those that must be set and those wanted. 1 if all wanted may be set. */
static uint32_t fit(uint32_t msr, uint32_t wanted, uint32_t *controls)
{
    uint64_t allowed = read_msr(msr);
    *controls = (uint32_t)allowed | wanted;
    return (wanted & ~(uint32_t)(allowed >> 32)) == 0;
}

static const char *missing_feature(void)
{
    if ((cpuid(1, 0).ecx & CPUID_VMX) == 0) {
        return "Intel VT-x";
    }
    uint64_t feature = read_msr(MSR_FEATURE_CONTROL);
    if ((feature & FEATURE_LOCKED) != 0 && (feature & FEATURE_VMX) == 0) {
        return "Intel VT-x, because the firmware has locked it";
    }
    if ((read_msr(MSR_VMX_BASIC) & BASIC_TRUE_CONTROLS) == 0) {
        return "VT-x of the second generation (guests whose changes of page maps do not exit)";
    }
    if (!fit(MSR_VMX_TRUE_PIN, PIN_CONTROLS, &pin)) {
        return "VT-x with virtual NMIs";
    }
    if (!fit(MSR_VMX_TRUE_PIN + 1, PRIMARY_CONTROLS, &primary) || (primary & (PRIMARY_CR3_LOAD | PRIMARY_CR3_STORE))) {
        return "VT-x with secondary controls, MSR bitmaps and a shadow of the task priority";
    }
    if (!fit(MSR_VMX_SECONDARY, SECONDARY_EPT | SECONDARY_WBINVD, &secondary)) {
        return "VT-x with EPT (nested page maps)";
    }
    if (!fit(MSR_VMX_SECONDARY, SECONDARY_VPID, &secondary)) {
        return "VT-x with VPID (translations that survive exits)";
    }
    if (!fit(MSR_VMX_SECONDARY, SECONDARY_CONTROLS, &secondary)) {
        return "VT-x with unrestricted guests (guests in real mode)";
    }
    if (!fit(MSR_VMX_TRUE_PIN + 2, EXIT_CONTROLS, &exit_controls) ||
        !fit(MSR_VMX_TRUE_PIN + 3, ENTRY_CONTROLS | ENTRY_LONG_MODE, &entry_controls)) {
        return "VT-x that switches EFER and PAT";
    }
    entry_controls &= ~ENTRY_LONG_MODE;
    uint64_t needed = CAPABLE_FOUR_LEVELS | CAPABLE_WRITE_BACK | CAPABLE_INVEPT;
    uint64_t capable = read_msr(MSR_VMX_EPT_VPID);
    if ((capable & needed) != needed || (capable & (CAPABLE_INVEPT_SINGLE | CAPABLE_INVEPT_ALL)) == 0) {
        return "EPT of four levels with INVEPT";
    }
    drop_type = (capable & CAPABLE_INVEPT_SINGLE) ? INVEPT_SINGLE : INVEPT_ALL;
    return 0;
}

/* ---- start-up ---- */

static void permissions_init(void)
{
    for (uint32_t i = 0; i < sizeof msr_bitmap; i++) {
        msr_bitmap[i] = 0xff;
    }
    for (uint32_t i = 0; i < sizeof own_msr / sizeof own_msr[0]; i++) {
        uint32_t bit = (own_msr[i] >= 0xc0000000 ? 0x400 * 8 : 0) + (own_msr[i] & 0x1fff);
        msr_bitmap[bit / 8] &= (uint8_t) ~(1u << bit % 8);
        msr_bitmap[0x800 + bit / 8] &= (uint8_t) ~(1u << bit % 8);
    }
}

static void write_controls(uint32_t cpu)
{
    vmx_write(VMCS_PIN_CONTROLS, pin);
    vmx_write(VMCS_PRIMARY_CONTROLS, primary);
    vmx_write(VMCS_SECONDARY_CONTROLS, secondary);
    vmx_write(VMCS_EXIT_CONTROLS, exit_controls);
    vmx_write(VMCS_ENTRY_CONTROLS, entry_controls);
    vmx_write(VMCS_EXCEPTION_BITMAP, EXCEPTIONS);
    vmx_write(VMCS_PAGE_FAULT_MASK, 0);
    vmx_write(VMCS_PAGE_FAULT_MATCH, 0);
    vmx_write(VMCS_CR3_TARGETS, 0);
    vmx_write(VMCS_MSR_BITMAP, physical_address(msr_bitmap));
    vmx_write(VMCS_EXIT_MSR_STORE_COUNT, VMX_NUM_MSR);
    vmx_write(VMCS_EXIT_MSR_LOAD_COUNT, VMX_NUM_MSR);
    vmx_write(VMCS_ENTRY_MSR_LOAD_COUNT, VMX_NUM_MSR);
    vmx_write(VMCS_EXIT_MSR_LOAD, physical_address(host_msr[cpu]));
    vmx_write(VMCS_ENTRY_EVENT, 0);
    vmx_write(VMCS_TPR_THRESHOLD, 0);
    vmx_write(VMCS_CR0_MASK, CR0_MASK);
    vmx_write(VMCS_CR4_MASK, CR4_MASK);
    vmx_write(VMCS_LINK_POINTER, ~0ul);
    vmx_write(VMCS_GUEST_DEBUG_CONTROL, 0);
    vmx_write(VMCS_GUEST_ACTIVITY, 0);
}

/* Exits load these selectors with the widest limits, but the null ones. ds and es hold nothing in 64-bit mode. */
static void write_host(uint32_t cpu)
{
    vmx_write(VMCS_HOST_CS, SELECTOR_KERNEL_CODE);
    vmx_write(VMCS_HOST_SS, SELECTOR_KERNEL_DATA);
    vmx_write(VMCS_HOST_DS, 0);
    vmx_write(VMCS_HOST_ES, 0);
    vmx_write(VMCS_HOST_FS, 0);
    vmx_write(VMCS_HOST_GS, 0);
    vmx_write(VMCS_HOST_TR, SELECTOR_TSS);
    vmx_write(VMCS_HOST_PAT, read_msr(MSR_PAT));
    vmx_write(VMCS_HOST_EFER, read_msr(MSR_EFER));
    vmx_write(VMCS_HOST_SYSENTER_CS, read_msr(MSR_SYSENTER));
    vmx_write(VMCS_HOST_SYSENTER_ESP, read_msr(MSR_SYSENTER + 1));
    vmx_write(VMCS_HOST_SYSENTER_EIP, read_msr(MSR_SYSENTER + 2));
    vmx_write(VMCS_HOST_CR4, read_cr4());
    vmx_write(VMCS_HOST_FS_BASE, read_msr(MSR_FS_BASE));
    vmx_write(VMCS_HOST_GS_BASE, (uint64_t)&percpu[cpu]);
    vmx_write(VMCS_HOST_TR_BASE, (uint64_t)&percpu[cpu] + PERCPU_TSS);
    vmx_write(VMCS_HOST_GDTR_BASE, (uint64_t)&percpu[cpu] + offsetof(struct percpu, gdt));
    vmx_write(VMCS_HOST_IDTR_BASE, idt_base());
    vmx_write(VMCS_HOST_RIP, vmx_exit_point);
    for (uint32_t i = 0; i < VMX_NUM_MSR; i++) {
        host_msr[cpu][i] = (struct vmx_msr){switched_msr[i], 0, read_msr(switched_msr[i])};
    }
}

/* Each succeeds, with both flags clear, or the structure is not there. */
static uint32_t load_structure(uint32_t cpu)
{
    uint64_t on = physical_address(on_region[cpu]), own = physical_address(structure[cpu]);
    uint8_t failed;
    __asm__ volatile("vmxon %1\n\tsetbe %0" : "=q"(failed) : "m"(on) : "cc", "memory");
    if (failed) {
        return 0;
    }
    __asm__ volatile("vmclear %1\n\tsetbe %0" : "=q"(failed) : "m"(own) : "cc", "memory");
    if (failed) {
        return 0;
    }
    __asm__ volatile("vmptrld %1\n\tsetbe %0" : "=q"(failed) : "m"(own) : "cc", "memory");
    return !failed;
}

const char *vmx_init_cpu(void)
{
    uint32_t cpu = arch_cpu();
    const char *missing = missing_feature();
    if (missing != 0) {
        return missing;
    }
    if ((read_msr(MSR_FEATURE_CONTROL) & FEATURE_LOCKED) == 0) {
        write_msr(MSR_FEATURE_CONTROL, read_msr(MSR_FEATURE_CONTROL) | FEATURE_LOCKED | FEATURE_VMX);
    }
    uint32_t revision = (uint32_t)read_msr(MSR_VMX_BASIC) & 0x7fffffff;
    *(volatile uint32_t *)on_region[cpu] = revision;
    *(volatile uint32_t *)structure[cpu] = revision;
    write_cr4(read_cr4() | CR4_VMXE);
    if (!load_structure(cpu)) {
        return "working VT-x: VMXON, VMCLEAR or VMPTRLD fails";
    }
    if (cpu == 0) {
        permissions_init();
    }
    owner[cpu] = NONE;
    launched[cpu] = 0;
    write_controls(cpu);
    write_host(cpu);
    return 0;
}

/* ---- runs ---- */

uint32_t vmx_take(uint32_t vm)
{
    uint32_t cpu = arch_cpu();
    if (owner[cpu] == vm && vmx_guest[vm].cpu == cpu) {
        return 1;
    }
    owner[cpu] = vm;
    vmx_guest[vm].cpu = cpu;
    for (uint32_t i = 0; i < VMX_NUM_MSR; i++) {
        vmx_guest_msr[vm][i].index = switched_msr[i];
    }
    vmx_write(VMCS_VPID, vm + 1);
    vmx_write(VMCS_VIRTUAL_APIC, physical_address(vmx_virtual_apic[vm]));
    vmx_write(VMCS_ENTRY_MSR_LOAD, physical_address(vmx_guest_msr[vm]));
    vmx_write(VMCS_EXIT_MSR_STORE, physical_address(vmx_guest_msr[vm]));
    return 0;
}

void vmx_host_begin(uint32_t nested_root)
{
    vmx_write(VMCS_EPT_POINTER, ept_pointer(nested_root));
    vmx_write(VMCS_HOST_CR0, read_cr0());
    vmx_write(VMCS_HOST_CR3, read_cr3());
}

/* An exit gives both tables the limit 0xffff, with which programs could load what lies behind them as descriptors. */
void vmx_host_end(void)
{
    gdt_load(arch_cpu());
    idt_load();
}

void vmx_drop_translations(uint64_t eptp)
{
    struct {
        uint64_t eptp;
        uint64_t reserved;
    } which = {drop_type == INVEPT_SINGLE ? eptp : 0, 0};
    __asm__ volatile("invept %0, %1" : : "m"(which), "r"(drop_type) : "cc", "memory");
}

/* Neither entries nor exits change CR2. */
uint32_t vmx_launch(uint32_t vm)
{
    uint32_t cpu = arch_cpu();
    write_cr2(vmx_guest[vm].cr2);
    uint32_t refused = vmx_enter(vmx_guest[vm].gpr, launched[cpu]);
    vmx_guest[vm].cr2 = read_cr2();
    if (refused) {
        return (uint32_t)vmx_read(VMCS_INSTRUCTION_ERROR);
    }
    launched[cpu] |= (vmx_read(VMCS_EXIT_REASON) & REASON_ENTRY_FAILED) == 0;
    return 0;
}

/* The exit has taken it, and holds back others until an interrupt return, which the handler ends with. */
void vmx_nmi(void)
{
    __asm__ volatile("int $2" : : : "memory");
}
