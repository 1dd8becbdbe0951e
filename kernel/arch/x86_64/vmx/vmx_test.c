/* Guests on VT-x with a processor that the test plays: states to and from the vcpu page, what each exit leads to, which field
 * is named when a state is refused, and that a guest's state survives another guest on the same CPU. */
#include "vmx/vmx.c"

#include "cpu/cpu.h"

static void *page_of(uint64_t physical);
#define direct(physical) page_of(physical)

#include "guest/machine_check.c"
#include "vmx/check.c"
#include "vmx/control.c"
#include "vmx/cpuid.c"
#include "vmx/debug.c"
#include "vmx/ept.c"
#include "vmx/event.c"
#undef EXCEPTION_PROTECTION
#include "vmx/exit.c"
#undef SEGMENT_CS
#include "vmx/state.c"
#include "vmx/transfer.c"

#include "test.h"

#define VM 1u
#define OTHER 2u
#define FRAME 7u
#define ROOT 77u
#define MOST_ENTRIES 100u
#define MSR_BANK(i) (MSR_BANK_STATUS + 4 * (i))

/* ---- the processor ---- */
static uint64_t structure[0x8000]; /* by encoding */
static uint32_t owner = NONE;
static uint32_t entries, writes, dropped, nmis, host_ends;
static uint64_t next_reason, next_qualification, next_int_info, next_vectoring, next_error;
static uint32_t next_refusal;
static uint64_t real_dr[4], real_dr6, guest_dr[4];
static uint64_t mcg_status, bank_status[2];
static uint64_t page[512];
struct vmx_msr vmx_guest_msr[NUM_VM][VMX_NUM_MSR];
uint8_t vmx_virtual_apic[NUM_VM][4096];

uint64_t vmx_read(uint32_t field)
{
    return structure[field];
}

void vmx_write(uint32_t field, uint64_t value)
{
    writes++;
    structure[field] = value;
}

uint32_t vmx_primary_controls(void)
{
    return PRIMARY_HLT;
}

uint32_t vmx_entry_controls(void)
{
    return ENTRY_LOAD_EFER;
}

uint32_t vmx_take(uint32_t vm)
{
    uint32_t own = owner == vm && vmx_guest[vm].cpu == 0;
    owner = vm;
    vmx_guest[vm].cpu = 0;
    return own;
}

void vmx_drop_translations(uint64_t eptp)
{
    CHECK_EQUAL(eptp, ept_pointer(ROOT));
    dropped++;
}

void vmx_host_begin(uint32_t nested_root)
{
    vmx_write(VMCS_EPT_POINTER, ept_pointer(nested_root));
}

void vmx_host_end(void)
{
    host_ends++;
}

void vmx_nmi(void)
{
    nmis++;
}

/* The guest moves its ip by one. */
uint32_t vmx_launch(uint32_t vm)
{
    CHECK_EQUAL(vm, owner);
    CHECK_EQUAL(structure[VMCS_EPT_POINTER], ept_pointer(ROOT));
    entries++;
    for (uint32_t i = 0; i < 4; i++) {
        guest_dr[i] = real_dr[i];
    }
    if (next_refusal != 0) {
        return next_refusal;
    }
    structure[VMCS_GUEST_RIP]++;
    structure[VMCS_EXIT_REASON] = entries < MOST_ENTRIES ? next_reason : REASON_TRIPLE_FAULT;
    structure[VMCS_EXIT_QUALIFICATION] = next_qualification;
    structure[VMCS_EXIT_INT_INFO] = next_int_info;
    structure[VMCS_EXIT_INT_ERROR] = next_error;
    structure[VMCS_VECTORING_INFO] = next_vectoring;
    structure[VMCS_VECTORING_ERROR] = 0x99;
    structure[VMCS_INSTRUCTION_LENGTH] = 2;
    if (next_reason == REASON_DR_ACCESS || next_reason == REASON_CR_ACCESS) {
        next_reason = REASON_HLT;
    }
    return 0;
}

void guest_debug_write(const uint64_t dr[4])
{
    for (uint32_t i = 0; i < 4; i++) {
        real_dr[i] = dr[i];
    }
}

void guest_debug_read(uint64_t dr[4])
{
    for (uint32_t i = 0; i < 4; i++) {
        dr[i] = real_dr[i];
    }
}

uint64_t guest_debug_status_read(void)
{
    return real_dr6;
}

void guest_debug_status_write(uint64_t dr6)
{
    real_dr6 = dr6;
}

uint64_t guest_msr_read(uint32_t msr)
{
    return msr == MSR_MCG_CAPABILITIES ? 2 : msr == MSR_MCG_STATUS ? mcg_status : bank_status[msr == MSR_BANK(1)];
}

void guest_msr_write(uint32_t msr, uint64_t value)
{
    if (msr == MSR_MCG_STATUS) {
        mcg_status = value;
    } else {
        bank_status[msr == MSR_BANK(1)] = value;
    }
}

/* ---- what else is called ---- */
static void *page_of(uint64_t physical)
{
    CHECK_EQUAL(physical, (uint64_t)FRAME << 12);
    return page;
}

uint64_t arch_frame_read(uint32_t frame, uint32_t word)
{
    CHECK_EQUAL(frame, FRAME);
    return page[word];
}

void arch_frame_write(uint32_t frame, uint32_t word, uint64_t value)
{
    CHECK_EQUAL(frame, FRAME);
    page[word] = value;
}

void fpu_reset_guest(uint32_t vm)
{
    (void)vm;
}

void mitigations_around_guest(void)
{
}

/* ---- helpers ---- */
#define ALL_CHANGED (VCPU_CHANGED_CONTROL | VCPU_CHANGED_SEGMENTS | VCPU_CHANGED_MSRS | VCPU_CHANGED_DEBUG)

static void take_page(uint32_t vm)
{
    while (vmx_vcpu_import_part(vm, FRAME)) {
    }
    CHECK_EQUAL(page[VCPU_CHANGED], 0);
}

/* A fresh guest whose page is that of a processor after reset. */
static void begin(uint32_t vm)
{
    for (uint32_t i = 0; i < 512; i++) {
        page[i] = 0;
    }
    vmx_vcpu_init(vm);
    vmx_vcpu_export(vm, FRAME);
    entries = 0;
    next_reason = REASON_HLT;
    next_qualification = next_int_info = next_vectoring = next_error = 0;
    next_refusal = 0;
}

/* 64-bit mode at ring 3, as Linux's programs have it. */
static void long_mode(void)
{
    page[VCPU_CR0] = 0x80050033;
    page[VCPU_CR3] = 0x1000;
    page[VCPU_CR4] = 0x6f0;
    page[VCPU_EFER] = 0xd01;
    for (uint32_t i = 0; i < 6; i++) {
        page[VCPU_SEGMENT + 2 * i] = 0; /* null */
        page[VCPU_SEGMENT + 2 * i + 1] = 0;
    }
    page[VCPU_SEGMENT + 2] = 0x33 | 0xafbul << 16 | 0xfffffffful << 32;
    page[VCPU_SEGMENT + 4] = 0x2b | 0xcf3ul << 16 | 0xfffffffful << 32;
    page[VCPU_SEGMENT + 2 * 4 + 1] = 0x7f0012345678;
    page[VCPU_SEGMENT + 2 * 7] = 0x40 | 0x08bul << 16 | 0x206ful << 32;
    page[VCPU_SEGMENT + 2 * 7 + 1] = 0xfffffe0000003000;
    page[VCPU_CPL] = 3;
    page[VCPU_RIP] = 0x401000;
    page[VCPU_RFLAGS] = 0x246;
    page[VCPU_CHANGED] = ALL_CHANGED;
}

static uint32_t run(uint32_t vm, uint64_t reason)
{
    entries = 0;
    next_reason = reason;
    while (vmx_vcpu_load_part(vm)) {
    }
    uint32_t left = vmx_vcpu_enter(vm, ROOT);
    while ((left == VCPU_EXIT_MACHINE_CHECK || left == VCPU_EXIT_INVALID_STATE) && vmx_vcpu_report_part(vm)) {
    }
    return left;
}

/* ---- tests ---- */

/* What the monitor writes comes back, and the fields are as the processor wants them. */
static void test_page(void)
{
    uint64_t given[512];
    begin(VM);
    CHECK_EQUAL(page[VCPU_CR0], 0x60000010);
    CHECK_EQUAL(vmx_guest[VM].field[VMX_CR0], 0x30);
    CHECK_EQUAL(vmx_wrong_field(VM), 0);
    long_mode();
    page[VCPU_CR8] = 9;
    page[VCPU_STAR + 1] = 0xffffffff81000000;
    page[VCPU_KERNEL_GS_BASE] = 0xffff888000000000;
    page[VCPU_SYSENTER_CS + 2] = 0xffffffff81000040;
    page[VCPU_TSC_OFFSET] = 0x123456789;
    for (uint32_t i = 0; i < 16; i++) {
        page[VCPU_GPR + i] = 0x1111111111111111ul * i;
    }
    for (uint32_t i = 0; i < 512; i++) {
        given[i] = page[i];
    }
    take_page(VM);
    CHECK_EQUAL(vmx_vcpu_import(VM, FRAME), 1);
    CHECK_EQUAL(vmx_wrong_field(VM), 0);
    CHECK_EQUAL(vmx_guest[VM].field[VMX_ACCESS + 1], 0xa0fb);
    CHECK_EQUAL(vmx_guest[VM].field[VMX_ACCESS + 3], ACCESS_UNUSABLE);
    CHECK_EQUAL(vmx_guest[VM].field[VMX_ACCESS + 7], 0x8b);
    CHECK_EQUAL(vmx_guest[VM].field[VMX_CR4], 0x26f0);
    CHECK_EQUAL(vmx_virtual_apic[VM][VIRTUAL_APIC_TPR], 0x90);
    vmx_vcpu_export(VM, FRAME);
    for (uint32_t i = VCPU_GPR; i < VCPU_WORDS; i++) {
        CHECK_EQUAL(page[i], given[i]);
    }
}

/* Forms that other processors take are brought to the one that this one takes. */
static void test_state_fitted(void)
{
    begin(VM);
    page[VCPU_SEGMENT + 2 * 3] = 0x8 | 0xc92ul << 16 | 0xffful << 32;      /* not accessed */
    page[VCPU_SEGMENT + 2 * 4] = 0x8 | 0x893ul << 16 | 0x1234ul << 32;     /* pages, with a limit of bytes */
    page[VCPU_SEGMENT + 2 * 5] = 0x8 | 0x093ul << 16 | 0xfffffffful << 32; /* bytes, with a limit of pages */
    page[VCPU_SEGMENT + 2 * 7] = 0x089ul << 16 | 0xfffful << 32;           /* not busy */
    page[VCPU_EFER] = 0x4000;                                              /* AMD's own */
    page[VCPU_CHANGED] = ALL_CHANGED;
    take_page(VM);
    CHECK_EQUAL(vmx_guest[VM].field[VMX_ACCESS + 3], 0xc093);
    CHECK_EQUAL(vmx_guest[VM].field[VMX_ACCESS + 4], 0x0093);
    CHECK_EQUAL(vmx_guest[VM].field[VMX_ACCESS + 5], 0x8093);
    CHECK_EQUAL(vmx_guest[VM].field[VMX_ACCESS + 7], 0x8b);
    CHECK_EQUAL(vmx_guest[VM].field[VMX_EFER], 0);
    CHECK_EQUAL(vmx_wrong_field(VM), 0);
}

/* Each rule that is broken names its field; states that only the shadows hold are refused before an entry. */
static void test_wrong_fields(void)
{
    static const struct {
        uint32_t field;
        uint64_t value;
        uint32_t named;
    } wrong[] = {
        {VMX_CR0, 0x80000030, VMCS_GUEST_CR0},
        {VMX_CR0, 1ul << 40, VMCS_GUEST_CR0},
        {VMX_CR4, 0x26d0, VMCS_GUEST_CR4},
        {VMX_CR4, 1ul << 33 | 0x26f0, VMCS_GUEST_CR4},
        {VMX_CR3, 1ul << 60, VMCS_GUEST_CR3},
        {VMX_PAT, 2, VMCS_GUEST_PAT},
        {VMX_SYSENTER_ESP, 1ul << 50, VMCS_GUEST_SYSENTER_ESP},
        {VMX_SYSENTER_EIP, 1ul << 50, VMCS_GUEST_SYSENTER_EIP},
        {VMX_BASE + 1, 1ul << 32, VMCS_GUEST_BASE + 2},
        {VMX_BASE + 4, 1ul << 50, VMCS_GUEST_BASE + 8},
        {VMX_BASE + 7, 1ul << 50, VMCS_GUEST_BASE + 14},
        {VMX_LIMIT + 2, 0xfffffff0, VMCS_GUEST_LIMIT + 4},
        {VMX_ACCESS + 1, 0xa0f3, VMCS_GUEST_ACCESS + 2},
        {VMX_ACCESS + 1, 0xa09b, VMCS_GUEST_ACCESS + 2},
        {VMX_ACCESS + 1, 0xe0fb, VMCS_GUEST_ACCESS + 2},
        {VMX_ACCESS + 2, 0xc0fb, VMCS_GUEST_ACCESS + 4},
        {VMX_ACCESS + 3, 0xc0f8, VMCS_GUEST_ACCESS + 6},
        {VMX_ACCESS + 6, 0x83, VMCS_GUEST_ACCESS + 12},
        {VMX_ACCESS + 7, 0x89, VMCS_GUEST_ACCESS + 14},
        {VMX_ACCESS + 7, ACCESS_UNUSABLE, VMCS_GUEST_ACCESS + 14},
        {VMX_GDTR_BASE, 1ul << 50, VMCS_GUEST_BASE + 16},
        {VMX_IDTR_BASE, 1ul << 50, VMCS_GUEST_BASE + 18},
        {VMX_RIP, 1ul << 50, VMCS_GUEST_RIP},
        {VMX_RFLAGS, FLAGS_VIRTUAL_8086 | 2, VMCS_GUEST_LIMIT},
    };
    for (uint32_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        begin(VM);
        long_mode();
        take_page(VM);
        CHECK_EQUAL(vmx_vcpu_import(VM, FRAME), 1);
        vmx_guest[VM].field[wrong[i].field] = wrong[i].value;
        CHECK_EQUAL(vmx_wrong_field(VM), wrong[i].named);
    }
    begin(VM);
    page[VCPU_CR0] = 0x20000010;
    page[VCPU_CHANGED] = VCPU_CHANGED_CONTROL;
    take_page(VM);
    CHECK_EQUAL(vmx_vcpu_import(VM, FRAME), 0);
    CHECK_EQUAL(page[VCPU_EXIT_INFO1], VMCS_GUEST_CR0);
    page[VCPU_INJECT] = INJECT_VALID | 7ul << 8;
    CHECK_EQUAL(vmx_vcpu_import(VM, FRAME), 0);
    CHECK_EQUAL(page[VCPU_EXIT_INFO1], 0);
}

/* A refused state: the field is named, the page stays, and the next import reads all of it. */
static void test_refused(void)
{
    begin(VM);
    long_mode();
    page[VCPU_CR3] = 1ul << 60;
    take_page(VM);
    CHECK_EQUAL(vmx_vcpu_import(VM, FRAME), 1);
    CHECK_EQUAL(run(VM, REASON_ENTRY_FAILED | REASON_INVALID_STATE), VCPU_EXIT_INVALID_STATE);
    page[VCPU_RIP] = 0x5555;
    vmx_vcpu_export(VM, FRAME);
    CHECK_EQUAL(page[VCPU_EXIT_INFO1], VMCS_GUEST_CR3);
    CHECK_EQUAL(page[VCPU_RIP], 0x5555);
    CHECK_EQUAL(vmx_vcpu_import_part(VM, FRAME), 1);
    CHECK_EQUAL(page[VCPU_CHANGED], ALL_CHANGED);
    next_refusal = 7;
    CHECK_EQUAL(run(VM, REASON_HLT), VCPU_EXIT_INVALID_STATE);
    CHECK_EQUAL(vmx_guest[VM].info2, REASON_REFUSED | 7ul << 32);
}

static void test_exits(void)
{
    static const struct {
        uint32_t reason;
        uint64_t qualification;
        uint32_t exit;
        uint64_t info1, info2, length;
    } exits[] = {
        {REASON_IO, 0x00800000 | 0, VCPU_EXIT_IO, 0x80 | 1 << 16, 0, 2},
        {REASON_IO, 0x01f70000 | 0x3b, VCPU_EXIT_IO, 0x1f7 | 4ul << 16 | 7ul << 24 | 4ul << 32, 0, 2},
        {REASON_EPT_VIOLATION, 0x182, VCPU_EXIT_MEMORY, 0xabc000, 1, 0},
        {REASON_EPT_VIOLATION, 0x184, VCPU_EXIT_MEMORY, 0xabc000, 2, 0},
        {REASON_EPT_VIOLATION, 0x81, VCPU_EXIT_MEMORY, 0xabc000, 4, 0},
        {REASON_CPUID, 0, VCPU_EXIT_CPUID, 0, 0, 2},
        {REASON_MSR_READ, 0, VCPU_EXIT_MSR_READ, 0, 0, 2},
        {REASON_MSR_WRITE, 0, VCPU_EXIT_MSR_WRITE, 0, 0, 2},
        {REASON_HLT, 0, VCPU_EXIT_HALT, 0, 0, 2},
        {REASON_VMCALL, 0, VCPU_EXIT_HYPERCALL, 0, 0, 2},
        {REASON_WBINVD, 0, VCPU_EXIT_CACHE, 0, 0, 2},
        {REASON_INVD, 0, VCPU_EXIT_CACHE, 0, 0, 2},
        {REASON_WINDOW, 0, VCPU_EXIT_INTERRUPT_WINDOW, 0, 0, 0},
        {REASON_TRIPLE_FAULT, 0, VCPU_EXIT_SHUTDOWN, 0, 0, 0},
        {REASON_RDPMC, 0, VCPU_EXIT_INSTRUCTION, 13, 0, 0},
        {REASON_XSETBV, 0, VCPU_EXIT_INSTRUCTION, 6, 0, 0},
        {REASON_VMXON, 0, VCPU_EXIT_INSTRUCTION, 6, 0, 0},
        {REASON_INTERRUPT, 0, VCPU_EXIT_NONE, 0, 0, 0},
        {9, 0x10, VCPU_EXIT_UNSUPPORTED, 9 | 0x10ul << 32, 0, 0}, /* a task switch */
    };
    for (uint32_t i = 0; i < sizeof exits / sizeof exits[0]; i++) {
        begin(VM);
        long_mode();
        take_page(VM);
        CHECK_EQUAL(vmx_vcpu_import(VM, FRAME), 1);
        structure[VMCS_INSTRUCTION_INFO] = 1ul << 7;
        structure[VMCS_GUEST_PHYSICAL] = 0xabc000;
        next_qualification = exits[i].qualification;
        host_ends = 0;
        CHECK_EQUAL(run(VM, exits[i].reason), exits[i].exit);
        CHECK_EQUAL(entries, 1);
        CHECK_EQUAL(host_ends, 1);
        CHECK_EQUAL(vmx_guest[VM].info1, exits[i].info1);
        CHECK_EQUAL(vmx_guest[VM].info2, exits[i].info2);
        CHECK_EQUAL(vmx_guest[VM].next_rip, exits[i].length != 0 ? 0x401001 + exits[i].length : 0);
    }
}

static void test_events(void)
{
    uint64_t page_fault = EVENT_VALID | EVENT_HAS_ERROR_CODE | 3ul << 8 | 14;
    CHECK_EQUAL(vmx_event_again(page_fault, 5), page_fault | 5ul << 32);
    CHECK_EQUAL(vmx_event_again(EVENT_VALID | 0x20, 5), EVENT_VALID | 0x20);
    CHECK_EQUAL(vmx_event_again(EVENT_VALID | 4ul << 8 | 0x80, 0), 0); /* INT n is run again */
    CHECK_EQUAL(vmx_event_again(EVENT_VALID | 6ul << 8 | 3, 0), 0);
    CHECK_EQUAL(vmx_event_again(0x20, 0), 0);
    CHECK_EQUAL(vmx_event_fit(page_fault | 5ul << 32, CR0_PE), page_fault | 5ul << 32);
    CHECK_EQUAL(vmx_event_fit(EVENT_VALID | 3ul << 8 | 13, CR0_PE), EVENT_VALID | EVENT_HAS_ERROR_CODE | 3ul << 8 | 13);
    CHECK_EQUAL(vmx_event_fit(page_fault | 5ul << 32, 0), EVENT_VALID | 3ul << 8 | 14);
    CHECK_EQUAL(vmx_event_fit(page_fault - 8, CR0_PE), EVENT_VALID | 3ul << 8 | 6);
    begin(VM);
    next_vectoring = EVENT_VALID | 0x20;
    CHECK_EQUAL(run(VM, REASON_EPT_VIOLATION), VCPU_EXIT_MEMORY);
    CHECK_EQUAL(vmx_guest[VM].event, EVENT_VALID | 0x20);
    CHECK_EQUAL(run(VM, REASON_HLT), VCPU_EXIT_HALT);
    CHECK_EQUAL(structure[VMCS_ENTRY_EVENT], EVENT_VALID | 0x20);
}

/* The kernel gives the guest its exception back at another entry, so that between two runs interrupts are served. */
static void test_exception_storm(uint32_t vector)
{
    begin(VM);
    next_int_info = EVENT_VALID | 3ul << 8 | vector;
    next_error = 0x55;
    next_qualification = 0x4002; /* single step, breakpoint 1 */
    CHECK_EQUAL(run(VM, REASON_EXCEPTION), VCPU_EXIT_NONE);
    CHECK_EQUAL(entries, 1);
    CHECK_EQUAL(vmx_guest[VM].event & 0x800007ff, EVENT_VALID | 3ul << 8 | vector);
    CHECK_EQUAL(vmx_guest[VM].event >> 32, vector == EXCEPTION_ALIGNMENT ? 0x55 : 0);
    CHECK_EQUAL(vmx_guest[VM].dr6, vector == EXCEPTION_DEBUG ? 0xffff4ff2 : 0xffff0ff0);
    next_vectoring = EVENT_VALID | 3ul << 8 | 14;
    CHECK_EQUAL(run(VM, REASON_EXCEPTION), VCPU_EXIT_UNSUPPORTED);
}

static void test_nmi_and_machine_check(void)
{
    begin(VM);
    next_int_info = EVENT_VALID | 2ul << 8 | 2;
    CHECK_EQUAL(run(VM, REASON_EXCEPTION), VCPU_EXIT_NONE);
    CHECK_EQUAL(nmis, 1);
    mcg_status = 5;
    bank_status[0] = 3;
    bank_status[1] = BANK_VALID | 9;
    next_int_info = EVENT_VALID | 3ul << 8 | EXCEPTION_MACHINE_CHECK;
    CHECK_EQUAL(run(VM, REASON_EXCEPTION), VCPU_EXIT_MACHINE_CHECK);
    CHECK_EQUAL(vmx_guest[VM].info1, 5);
    CHECK_EQUAL(vmx_guest[VM].info2, BANK_VALID | 9);
    CHECK_EQUAL(mcg_status, 0);
    CHECK_EQUAL(bank_status[1], 0);
}

/* CD is the shadow's, MCE too; VMXE is refused with an exception. */
static void test_control_registers(void)
{
    begin(VM);
    take_page(VM);
    vmx_guest[VM].gpr[GPR_RBX] = 0x40000031;
    next_qualification = 0 | GPR_RBX << 8;
    CHECK_EQUAL(run(VM, REASON_CR_ACCESS), VCPU_EXIT_HALT);
    CHECK_EQUAL(entries, 2);
    CHECK_EQUAL(structure[VMCS_CR0_SHADOW], 0x40000031);
    CHECK_EQUAL(structure[VMCS_GUEST_CR0] & CR0_MASK, CR0_NE);
    CHECK_EQUAL(structure[VMCS_ENTRY_EVENT], 0);
    vmx_guest[VM].gpr[GPR_RBX] = 0x20000031; /* NW without CD */
    CHECK_EQUAL(run(VM, REASON_CR_ACCESS), VCPU_EXIT_HALT);
    CHECK_EQUAL(structure[VMCS_ENTRY_EVENT], 0x80000b0d & ~EVENT_HAS_ERROR_CODE); /* in real mode */
    CHECK_EQUAL(structure[VMCS_CR0_SHADOW], 0x40000031);
    vmx_guest[VM].gpr[GPR_RBX] = CR4_VMXE;
    next_qualification = 4 | GPR_RBX << 8;
    CHECK_EQUAL(run(VM, REASON_CR_ACCESS), VCPU_EXIT_HALT);
    CHECK_EQUAL(structure[VMCS_ENTRY_EVENT] & 0xff, 13);
    CHECK_EQUAL(structure[VMCS_CR4_SHADOW], 0);
    vmx_guest[VM].gpr[GPR_RBX] = CR4_MCE;
    CHECK_EQUAL(run(VM, REASON_CR_ACCESS), VCPU_EXIT_HALT);
    CHECK_EQUAL(structure[VMCS_CR4_SHADOW], CR4_MCE);
}

/* The guest has the registers from its first access, or with a breakpoint turned on; outside they are zero. */
static void test_debug_registers(void)
{
    begin(VM);
    vmx_guest[VM].dr[2] = 0x1234;
    CHECK_EQUAL(run(VM, REASON_HLT), VCPU_EXIT_HALT);
    CHECK_EQUAL(structure[VMCS_PRIMARY_CONTROLS] & PRIMARY_MOV_DR, PRIMARY_MOV_DR);
    CHECK_EQUAL(guest_dr[2], 0);
    CHECK_EQUAL(run(VM, REASON_DR_ACCESS), VCPU_EXIT_HALT);
    CHECK_EQUAL(entries, 2);
    CHECK_EQUAL(structure[VMCS_PRIMARY_CONTROLS] & PRIMARY_MOV_DR, 0);
    CHECK_EQUAL(guest_dr[2], 0x1234);
    CHECK_EQUAL(real_dr[2], 0);
    CHECK_EQUAL(vmx_guest[VM].dr[2], 0x1234);
    page[VCPU_DR7] = 0x1;
    page[VCPU_DR0] = 0x7000;
    page[VCPU_CHANGED] = VCPU_CHANGED_DEBUG;
    take_page(VM);
    CHECK_EQUAL(run(VM, REASON_HLT), VCPU_EXIT_HALT);
    CHECK_EQUAL(structure[VMCS_GUEST_DR7], 0x401);
    CHECK_EQUAL(guest_dr[0], 0x7000);
    CHECK_EQUAL(real_dr[0], 0);
    CHECK_EQUAL(real_dr6, 0xffff0ff0);
}

/* Interrupt shadows keep their kind, and get one that the flags allow. */
static void test_shadow(void)
{
    CHECK_EQUAL(interruptibility(BLOCKED_BY_MOV_SS, 1, FLAGS_INTERRUPT, 0), BLOCKED_BY_MOV_SS);
    CHECK_EQUAL(interruptibility(0, 1, FLAGS_INTERRUPT, 0), BLOCKED_BY_STI);
    CHECK_EQUAL(interruptibility(BLOCKED_BY_STI, 1, 0, 0), BLOCKED_BY_MOV_SS);
    CHECK_EQUAL(interruptibility(BLOCKED_BY_STI | BLOCKED_BY_NMI, 0, 0, 0), BLOCKED_BY_NMI);
    CHECK_EQUAL(interruptibility(BLOCKED_BY_NMI, 0, 0, EVENT_VALID | 2ul << 8 | 2), 0);
    begin(VM);
    page[VCPU_INTERRUPT_SHADOW] = 1;
    page[VCPU_RFLAGS] = FLAGS_TRAP | FLAGS_INTERRUPT | 2;
    CHECK_EQUAL(vmx_vcpu_import(VM, FRAME), 1);
    CHECK_EQUAL(run(VM, REASON_HLT), VCPU_EXIT_HALT);
    CHECK_EQUAL(structure[VMCS_GUEST_PENDING_DEBUG], PENDING_SINGLE_STEP);
}

/* Two guests on one CPU, one of which is started anew: each finds its own state, and little is written for one alone. */
static void test_two_guests(void)
{
    begin(VM);
    begin(OTHER);
    vmx_guest[VM].field[VMX_CR3] = 0x1000;
    vmx_guest[OTHER].field[VMX_CR3] = 0x2000;
    CHECK_EQUAL(run(VM, REASON_HLT), VCPU_EXIT_HALT);
    structure[VMCS_GUEST_CR3] = 0x3000; /* the guest's doing, at its next run */
    vmx_guest[VM].changed = 0;
    writes = 0;
    CHECK_EQUAL(run(VM, REASON_HLT), VCPU_EXIT_HALT);
    CHECK(writes < 16);
    CHECK_EQUAL(vmx_guest[VM].field[VMX_CR3], 0x3000);
    CHECK_EQUAL(run(OTHER, REASON_HLT), VCPU_EXIT_HALT);
    CHECK_EQUAL(structure[VMCS_GUEST_CR3], 0x2000);
    CHECK_EQUAL(run(VM, REASON_HLT), VCPU_EXIT_HALT);
    CHECK_EQUAL(structure[VMCS_GUEST_CR3], 0x3000);
    vmx_vcpu_init(VM);
    CHECK_EQUAL(run(VM, REASON_HLT), VCPU_EXIT_HALT);
    CHECK_EQUAL(structure[VMCS_GUEST_CR3], 0);
}

/* Translations go when the map has changed, and when the monitor changes what they depend on. */
static void test_translations(void)
{
    begin(VM);
    CHECK_EQUAL(run(VM, REASON_HLT), VCPU_EXIT_HALT);
    dropped = 0;
    CHECK_EQUAL(run(VM, REASON_HLT), VCPU_EXIT_HALT);
    CHECK_EQUAL(dropped, 0);
    vmx_vcpu_flush(VM);
    CHECK_EQUAL(run(VM, REASON_HLT), VCPU_EXIT_HALT);
    CHECK_EQUAL(dropped, 1);
    page[VCPU_CR3] = 0x5000;
    page[VCPU_CHANGED] = VCPU_CHANGED_CONTROL;
    take_page(VM);
    CHECK_EQUAL(run(VM, REASON_HLT), VCPU_EXIT_HALT);
    CHECK_EQUAL(dropped, 2);
    CHECK_EQUAL(ept_entry(5, PROT_READ), 0x5031);
    CHECK_EQUAL(ept_entry(5, PROT_READ | PROT_WRITE | PROT_EXEC), 0x5037);
    CHECK_EQUAL(ept_table(5), 0x5007);
    CHECK_EQUAL(ept_pointer(5), 0x501e);
}

/* The mode of an entry is the guest's own, which may have changed without an exit. */
static void test_mode(void)
{
    begin(VM);
    CHECK_EQUAL(run(VM, REASON_HLT), VCPU_EXIT_HALT);
    CHECK_EQUAL(structure[VMCS_ENTRY_CONTROLS], ENTRY_LOAD_EFER);
    structure[VMCS_GUEST_EFER] = EFER_LME | EFER_LMA;
    vmx_guest[VM].changed = 0;
    CHECK_EQUAL(run(VM, REASON_HLT), VCPU_EXIT_HALT);
    CHECK_EQUAL(structure[VMCS_ENTRY_CONTROLS], ENTRY_LOAD_EFER | ENTRY_LONG_MODE);
}

int main(void)
{
    test_page();
    test_state_fitted();
    test_wrong_fields();
    test_refused();
    test_exits();
    test_events();
    test_exception_storm(EXCEPTION_DEBUG);
    test_exception_storm(EXCEPTION_ALIGNMENT);
    test_nmi_and_machine_check();
    test_control_registers();
    test_debug_registers();
    test_shadow();
    test_two_guests();
    test_translations();
    test_mode();
    return TEST_END();
}
