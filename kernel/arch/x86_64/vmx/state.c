/* Between vcpu page and the guest's fields: import sanitises the monitor's values and brings them to the form that entries
 * want, where that form says the same; export copies the guest's state. The processor itself refuses the remaining invalid
 * combinations (VCPU_EXIT_INVALID_STATE). */
#include "abi.h"
#include "arch.h"
#include "cpu/cpu.h"
#include "vmx/vmcs.h"
#include "vmx/vmx.h"

#define CR0_ET 0x10ul
#define RESET_PAT 0x0007040600070406ul
#define RESET_PROCESSOR 0x600ul /* rdx at reset: family */
#define SEGMENT_CS 1u
#define SEGMENT_SS 2u
#define SEGMENT_LDTR 6u
#define SEGMENT_TR 7u
#define ATTRIBUTES_LOW 0xfful
#define ATTRIBUTES_HIGH 0xf00ul /* 4 bits further up in the field */

/* ---- segments: packed as in abi.h, or the fields ---- */

static uint64_t access_of(uint64_t attributes)
{
    uint64_t access = (attributes & ATTRIBUTES_LOW) | (attributes & ATTRIBUTES_HIGH) << 4;
    return (attributes & ACCESS_PRESENT) ? access : access | ACCESS_UNUSABLE;
}

static uint64_t attributes_of(uint64_t access)
{
    uint64_t attributes = (access & ATTRIBUTES_LOW) | (access >> 4 & ATTRIBUTES_HIGH);
    return (access & ACCESS_UNUSABLE) ? attributes & ~ACCESS_PRESENT : attributes;
}

/* A limit in bytes says whether it counts pages, but where both would do; a segment that is used has been accessed, and a
 * task that runs is busy. */
static uint64_t access_fit(uint32_t segment, uint64_t access, uint64_t limit)
{
    if (access & ACCESS_UNUSABLE) {
        return access;
    }
    if ((limit >> 20) != 0) {
        access |= ACCESS_PAGES;
    } else if ((limit & 0xfff) != 0xfff) {
        access &= ~ACCESS_PAGES;
    }
    if (segment == SEGMENT_TR) {
        return access | ACCESS_BUSY;
    }
    return segment == SEGMENT_LDTR ? access : access | ACCESS_ACCESSED;
}

static void set_segment(uint32_t vm, uint32_t segment, uint64_t packed, uint64_t base)
{
    uint64_t *field = vmx_guest[vm].field;
    uint64_t limit = packed >> 32;
    field[VMX_SELECTOR + segment] = packed & 0xffff;
    field[VMX_LIMIT + segment] = limit;
    field[VMX_ACCESS + segment] = access_fit(segment, access_of(packed >> 16 & 0xfff), limit);
    field[VMX_BASE + segment] = base;
}

static uint64_t packed_segment(uint32_t vm, uint32_t segment)
{
    const uint64_t *field = vmx_guest[vm].field;
    return field[VMX_SELECTOR + segment] | attributes_of(field[VMX_ACCESS + segment]) << 16 |
           field[VMX_LIMIT + segment] << 32;
}

/* The processor takes the privilege level from the stack segment. */
static void set_privilege(uint32_t vm, uint64_t level)
{
    uint64_t *access = &vmx_guest[vm].field[VMX_ACCESS + SEGMENT_SS];
    *access = (*access & ~(3ul << ACCESS_DPL_SHIFT)) | level << ACCESS_DPL_SHIFT;
}

static uint64_t privilege(uint32_t vm)
{
    return vmx_guest[vm].field[VMX_ACCESS + SEGMENT_SS] >> ACCESS_DPL_SHIFT & 3;
}

/* ---- control registers ---- */

static void set_control(uint32_t vm, uint64_t cr0, uint64_t cr3, uint64_t cr4, uint64_t efer)
{
    uint64_t *field = vmx_guest[vm].field;
    uint64_t own0 = (cr0 & ~CR0_MASK) | CR0_FORCED, own4 = cr4 | CR4_FORCED;
    efer &= GUEST_EFER & ~EFER_LMA;
    if ((efer & EFER_LME) && (cr0 & CR0_PG)) {
        efer |= EFER_LMA;
    }
    if (field[VMX_CR0] != own0 || field[VMX_CR3] != cr3 || field[VMX_CR4] != own4 || field[VMX_EFER] != efer) {
        vmx_vcpu_flush(vm); /* the guest's own writes drop what the processor keeps, the monitor's do not */
    }
    field[VMX_CR0] = own0;
    field[VMX_CR0_SHADOW] = cr0;
    field[VMX_CR3] = cr3;
    field[VMX_CR4] = own4;
    field[VMX_CR4_SHADOW] = cr4;
    field[VMX_EFER] = efer;
}

static void set_priority(uint32_t vm, uint64_t cr8)
{
    *(volatile uint32_t *)(vmx_virtual_apic[vm] + VIRTUAL_APIC_TPR) = (uint32_t)(cr8 & 0xf) << 4;
}

static uint64_t priority(uint32_t vm)
{
    return *(volatile uint32_t *)(vmx_virtual_apic[vm] + VIRTUAL_APIC_TPR) >> 4 & 0xf;
}

void vmx_reset_state(uint32_t vm)
{
    vmx_guest[vm].gpr[GPR_RDX] = RESET_PROCESSOR;
    for (uint32_t i = 0; i < 6; i++) {
        set_segment(vm, i, 0x093ul << 16 | 0xfffful << 32, 0);
    }
    set_segment(vm, SEGMENT_CS, 0xf000 | 0x09bul << 16 | 0xfffful << 32, 0xffff0000ul);
    set_segment(vm, SEGMENT_LDTR, 0x082ul << 16 | 0xfffful << 32, 0);
    set_segment(vm, SEGMENT_TR, 0x08bul << 16 | 0xfffful << 32, 0);
    vmx_guest[vm].field[VMX_GDTR_LIMIT] = 0xffff;
    vmx_guest[vm].field[VMX_IDTR_LIMIT] = 0xffff;
    vmx_guest[vm].field[VMX_RIP] = 0xfff0;
    vmx_guest[vm].field[VMX_RFLAGS] = FLAGS_ALWAYS;
    vmx_guest[vm].field[VMX_PAT] = RESET_PAT;
    set_control(vm, CR0_ET | CR0_CD | CR0_NW, 0, 0, 0);
    set_priority(vm, 0);
    for (uint32_t i = 0; i < VMX_NUM_MSR; i++) {
        vmx_guest_msr[vm][i].value = 0;
    }
}

/* ---- import ---- */

static void import_control(uint32_t vm, uint32_t frame)
{
    set_control(vm, arch_frame_read(frame, VCPU_CR0) | CR0_ET, arch_frame_read(frame, VCPU_CR3),
                arch_frame_read(frame, VCPU_CR4), arch_frame_read(frame, VCPU_EFER));
    set_priority(vm, arch_frame_read(frame, VCPU_CR8));
    vmx_guest[vm].cr2 = arch_frame_read(frame, VCPU_CR2);
    vmx_guest[vm].field[VMX_PAT] = arch_frame_read(frame, VCPU_PAT);
    vmx_guest[vm].changed |= VMX_GROUP_CONTROL;
}

static void import_segments(uint32_t vm, uint32_t frame)
{
    for (uint32_t i = 0; i < 8; i++) {
        set_segment(vm, i, arch_frame_read(frame, VCPU_SEGMENT + 2 * i),
                    arch_frame_read(frame, VCPU_SEGMENT + 2 * i + 1));
    }
    vmx_guest[vm].field[VMX_GDTR_LIMIT] = arch_frame_read(frame, VCPU_GDTR) & 0xffff;
    vmx_guest[vm].field[VMX_GDTR_BASE] = arch_frame_read(frame, VCPU_GDTR + 1);
    vmx_guest[vm].field[VMX_IDTR_LIMIT] = arch_frame_read(frame, VCPU_IDTR) & 0xffff;
    vmx_guest[vm].field[VMX_IDTR_BASE] = arch_frame_read(frame, VCPU_IDTR + 1);
    set_privilege(vm, arch_frame_read(frame, VCPU_CPL) & 3);
    vmx_guest[vm].changed |= VMX_GROUP_SEGMENTS;
}

static void import_msrs(uint32_t vm, uint32_t frame)
{
    for (uint32_t i = 0; i < 4; i++) { /* star lstar cstar sfmask */
        vmx_guest_msr[vm][i].value = arch_frame_read(frame, VCPU_STAR + i);
    }
    vmx_guest_msr[vm][4].value = arch_frame_read(frame, VCPU_KERNEL_GS_BASE);
    for (uint32_t i = 0; i < 3; i++) { /* sysenter cs esp eip */
        vmx_guest[vm].field[VMX_SYSENTER_CS + i] = arch_frame_read(frame, VCPU_SYSENTER_CS + i);
    }
    vmx_guest[vm].changed |= VMX_GROUP_MSRS;
}

/* Takes the monitor's event, in *event; returns 0 if it is invalid. */
static uint32_t import_event(uint32_t frame, uint64_t *event)
{
    uint64_t inject = arch_frame_read(frame, VCPU_INJECT);
    uint64_t type = (inject >> EVENT_TYPE_SHIFT) & 7;
    uint64_t vector = inject & 0xff;
    *event = 0;
    if (!(inject & INJECT_VALID)) {
        return inject == 0;
    }
    if (type == EVENT_TYPE_EXCEPTION && (vector >= 32 || vector == 2)) {
        return 0;
    }
    if (type != EVENT_TYPE_EXTERNAL && type != EVENT_TYPE_NMI && type != EVENT_TYPE_EXCEPTION) {
        return 0;
    }
    *event = inject & EVENT_FIELDS;
    if (type == EVENT_TYPE_NMI) {
        *event = (*event & ~0xfful) | 2; /* its only vector */
    }
    return 1;
}

/* What the processor does not see, since it is only in the shadows: the field that no processor would take, or 0. */
static uint32_t wrong_shadow(const uint64_t *field)
{
    if ((field[VMX_CR0_SHADOW] & (CR0_CD | CR0_NW)) == CR0_NW) {
        return VMCS_GUEST_CR0;
    }
    return (field[VMX_CR4_SHADOW] & CR4_VMXE) ? VMCS_GUEST_CR4 : 0;
}

/* The shadow that was there, if the page still says so; otherwise one of the kind that these flags allow. */
static uint64_t interruptibility(uint64_t before, uint64_t shadow, uint64_t rflags, uint64_t event)
{
    uint64_t blocked = before & (BLOCKED_BY_STI | BLOCKED_BY_MOV_SS);
    uint64_t kept = before & BLOCKED_BY_NMI;
    if ((event & EVENT_VALID) && ((event >> EVENT_TYPE_SHIFT) & 7) == EVENT_TYPE_NMI) {
        kept = 0;
    }
    if (shadow == 0) {
        return kept;
    }
    if ((rflags & FLAGS_INTERRUPT) == 0) {
        return kept | BLOCKED_BY_MOV_SS;
    }
    return kept | (blocked != 0 ? blocked : BLOCKED_BY_STI);
}

uint32_t vmx_vcpu_import_part(uint32_t vm, uint32_t frame)
{
    uint64_t changed = arch_frame_read(frame, VCPU_CHANGED);
    uint64_t done;

    if (vmx_guest[vm].refused) {
        vmx_guest[vm].refused = 0;
        vmx_guest[vm].field[VMX_INTERRUPTIBILITY] = 0;
        changed |= VCPU_CHANGED_CONTROL | VCPU_CHANGED_SEGMENTS | VCPU_CHANGED_MSRS | VCPU_CHANGED_DEBUG;
        arch_frame_write(frame, VCPU_CHANGED, changed);
        return 1;
    }
    if (changed & VCPU_CHANGED_CONTROL) {
        done = VCPU_CHANGED_CONTROL;
        import_control(vm, frame);
    } else if (changed & VCPU_CHANGED_SEGMENTS) {
        done = VCPU_CHANGED_SEGMENTS;
        import_segments(vm, frame);
    } else if (changed & VCPU_CHANGED_MSRS) {
        done = VCPU_CHANGED_MSRS;
        import_msrs(vm, frame);
    } else if (changed & VCPU_CHANGED_DEBUG) {
        done = VCPU_CHANGED_DEBUG;
        vmx_debug_import(vm, frame);
    } else {
        return 0;
    }
    arch_frame_write(frame, VCPU_CHANGED, changed & ~done);
    return 1;
}

uint32_t vmx_vcpu_import(uint32_t vm, uint32_t frame)
{
    struct vmx_guest *guest = &vmx_guest[vm];
    uint64_t event;
    if (!import_event(frame, &event)) {
        arch_frame_write(frame, VCPU_EXIT_INFO1, 0); /* no field of the state is wrong */
        return 0;
    }
    guest->page = frame;
    guest->event = event;
    const uint64_t *page = direct((uint64_t)frame << 12); /* for words that may have any value */
#pragma GCC unroll 16
    for (uint32_t i = 0; i < 16; i++) {
        guest->gpr[i] = page[VCPU_GPR + i];
    }
    uint64_t rflags = (arch_frame_read(frame, VCPU_RFLAGS) & FLAGS_DEFINED) | FLAGS_ALWAYS;
    uint64_t shadow = arch_frame_read(frame, VCPU_INTERRUPT_SHADOW) & 1;
    uint64_t offset = arch_frame_read(frame, VCPU_TSC_OFFSET);
    guest->field[VMX_RSP] = guest->gpr[GPR_RSP];
    guest->field[VMX_RIP] = arch_frame_read(frame, VCPU_RIP);
    guest->field[VMX_RFLAGS] = rflags;
    guest->field[VMX_INTERRUPTIBILITY] = interruptibility(guest->field[VMX_INTERRUPTIBILITY], shadow, rflags, event);
    guest->field[VMX_PENDING_DEBUG] = 0; /* of an instruction that the monitor may have gone past */
    if (guest->field[VMX_TSC_OFFSET] != offset) {
        guest->field[VMX_TSC_OFFSET] = offset;
        guest->changed |= VMX_GROUP_TSC;
    }
    guest->window = arch_frame_read(frame, VCPU_CONTROL) & VCPU_CONTROL_INTERRUPT_WINDOW;
    uint32_t hidden = wrong_shadow(guest->field);
    if (hidden != 0) {
        guest->refused = 1;
        arch_frame_write(frame, VCPU_EXIT_INFO1, hidden);
        return 0;
    }
    return 1;
}

/* ---- export ---- */

static void export_exit(uint32_t vm, uint32_t frame)
{
    uint64_t shadow = vmx_guest[vm].field[VMX_INTERRUPTIBILITY] & (BLOCKED_BY_STI | BLOCKED_BY_MOV_SS);
    arch_frame_write(frame, VCPU_EXIT_INFO1, vmx_guest[vm].info1);
    arch_frame_write(frame, VCPU_EXIT_INFO2, vmx_guest[vm].info2);
    arch_frame_write(frame, VCPU_EXIT_NEXT_RIP, vmx_guest[vm].next_rip);
    arch_frame_write(frame, VCPU_INJECT, vmx_guest[vm].event);
    arch_frame_write(frame, VCPU_INTERRUPT_SHADOW, shadow != 0);
    arch_frame_write(frame, VCPU_FETCHED, 0); /* these processors do not report instructions */
}

/* About sixty words at every exit to the monitor, so they are copied directly. The monitor reads them after the call
 * returns. */
void vmx_vcpu_export(uint32_t vm, uint32_t frame)
{
    struct vmx_guest *guest = &vmx_guest[vm];
    const uint64_t *field = guest->field;
    uint64_t *page = direct((uint64_t)frame << 12);
    export_exit(vm, frame);
    if (guest->refused) {
        return; /* the page keeps the monitor's values; the next import reads all of them */
    }
    guest->gpr[GPR_RSP] = field[VMX_RSP];
#pragma GCC unroll 16
    for (uint32_t i = 0; i < 16; i++) {
        page[VCPU_GPR + i] = guest->gpr[i];
    }
    page[VCPU_RIP] = field[VMX_RIP];
    page[VCPU_RFLAGS] = field[VMX_RFLAGS];
    page[VCPU_CR0] = (field[VMX_CR0] & ~CR0_MASK) | (field[VMX_CR0_SHADOW] & CR0_MASK);
    page[VCPU_CR2] = guest->cr2;
    page[VCPU_CR3] = field[VMX_CR3];
    page[VCPU_CR4] = (field[VMX_CR4] & ~CR4_MASK) | (field[VMX_CR4_SHADOW] & CR4_MASK);
    page[VCPU_EFER] = field[VMX_EFER];
    vmx_debug_export(vm, page);
    page[VCPU_CPL] = privilege(vm);
    page[VCPU_CR8] = priority(vm);
    page[VCPU_PAT] = field[VMX_PAT];
    for (uint32_t i = 0; i < 8; i++) {
        page[VCPU_SEGMENT + 2 * i] = packed_segment(vm, i);
        page[VCPU_SEGMENT + 2 * i + 1] = field[VMX_BASE + i];
    }
    page[VCPU_GDTR] = field[VMX_GDTR_LIMIT];
    page[VCPU_GDTR + 1] = field[VMX_GDTR_BASE];
    page[VCPU_IDTR] = field[VMX_IDTR_LIMIT];
    page[VCPU_IDTR + 1] = field[VMX_IDTR_BASE];
    for (uint32_t i = 0; i < 4; i++) {
        page[VCPU_STAR + i] = vmx_guest_msr[vm][i].value;
    }
    page[VCPU_KERNEL_GS_BASE] = vmx_guest_msr[vm][4].value;
    for (uint32_t i = 0; i < 3; i++) {
        page[VCPU_SYSENTER_CS + i] = field[VMX_SYSENTER_CS + i];
    }
}
