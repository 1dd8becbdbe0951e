/* Between vcpu page and control block: import sanitises the monitor's values, export copies the guest's state. The
 * processor itself refuses the remaining invalid combinations (VCPU_EXIT_INVALID_STATE). */
#include "abi.h"
#include "arch.h"
#include "cpu/cpu.h"
#include "guest/svm.h"
#include "guest/vmcb.h"

#define RFLAGS_ALWAYS 0x2ul
#define RFLAGS_DEFINED 0x3f7fd7ul
#define CR0_PE 0x1ul
#define CR0_ET 0x10ul
#define CR0_NW 0x20000000ul
#define CR0_CD 0x40000000ul
#define CR0_PG 0x80000000ul
#define GUEST_EFER 0x4d01ul                 /* SCE LME LMA NXE FFXSR */
#define SEGMENT_FIELDS 0xffffffff0ffffffful /* selector, 12 attribute bits, limit */
#define RESET_PAT 0x0007040600070406ul
#define RESET_PROCESSOR 0x600ul /* rdx at reset: family */
#define GPR_RAX 0u
#define GPR_RDX 2u
#define GPR_RSP 4u

static const uint32_t segment_offset[8] = {
    VMCB_SEGMENTS + 0x00,
    VMCB_SEGMENTS + 0x10,
    VMCB_SEGMENTS + 0x20,
    VMCB_SEGMENTS + 0x30, /* es cs ss ds */
    VMCB_SEGMENTS + 0x40,
    VMCB_SEGMENTS + 0x50,
    VMCB_LDTR,
    VMCB_TR, /* fs gs ldtr tr */
};

static uint64_t packed_segment(uint64_t selector, uint64_t attributes, uint64_t limit)
{
    return selector | attributes << 16 | limit << 32;
}

void svm_reset_state(uint32_t vm)
{
    for (uint32_t i = 0; i < 16; i++) {
        svm_guest[vm].gpr[i] = 0;
    }
    svm_guest[vm].gpr[GPR_RDX] = RESET_PROCESSOR;
    for (uint32_t i = 0; i < 6; i++) {
        vmcb_set(vm, segment_offset[i], packed_segment(0, 0x093, 0xffff));
        vmcb_set(vm, segment_offset[i] + 8, 0);
    }
    vmcb_set(vm, segment_offset[1], packed_segment(0xf000, 0x09b, 0xffff));
    vmcb_set(vm, segment_offset[1] + 8, 0xffff0000ul);
    vmcb_set(vm, VMCB_LDTR, packed_segment(0, 0x082, 0xffff));
    vmcb_set(vm, VMCB_TR, packed_segment(0, 0x08b, 0xffff));
    svm_tcg_task(vm);
    vmcb_set(vm, VMCB_GDTR, packed_segment(0, 0, 0xffff));
    vmcb_set(vm, VMCB_IDTR, packed_segment(0, 0, 0xffff));
    vmcb_set(vm, VMCB_RIP, 0xfff0);
    vmcb_set(vm, VMCB_RFLAGS, RFLAGS_ALWAYS);
    vmcb_set(vm, VMCB_CR0, CR0_ET | CR0_CD | CR0_NW);
    vmcb_set(vm, VMCB_PAT, RESET_PAT);
    vmcb_set(vm, VMCB_EFER, EFER_SVME);
}

static void import_control(uint32_t vm, uint32_t frame)
{
    uint64_t cr0 = arch_frame_read(frame, VCPU_CR0) | CR0_ET;
    uint64_t efer = arch_frame_read(frame, VCPU_EFER) & GUEST_EFER & ~EFER_LMA;
    if ((efer & EFER_LME) && (cr0 & CR0_PG)) {
        efer |= EFER_LMA;
    }
    uint64_t control = vmcb_get(vm, VMCB_INT_CONTROL) & ~INT_CONTROL_TPR;
    vmcb_set(vm, VMCB_INT_CONTROL, control | (arch_frame_read(frame, VCPU_CR8) & INT_CONTROL_TPR));
    vmcb_set(vm, VMCB_CR0, cr0);
    vmcb_set(vm, VMCB_CR2, arch_frame_read(frame, VCPU_CR2));
    vmcb_set(vm, VMCB_CR3, arch_frame_read(frame, VCPU_CR3));
    vmcb_set(vm, VMCB_CR4, arch_frame_read(frame, VCPU_CR4));
    vmcb_set(vm, VMCB_EFER, efer | EFER_SVME);
    vmcb_set(vm, VMCB_PAT, arch_frame_read(frame, VCPU_PAT));
}

static void import_segments(uint32_t vm, uint32_t frame)
{
    for (uint32_t i = 0; i < 8; i++) {
        vmcb_set(vm, segment_offset[i], arch_frame_read(frame, VCPU_SEGMENT + 2 * i) & SEGMENT_FIELDS);
        vmcb_set(vm, segment_offset[i] + 8, arch_frame_read(frame, VCPU_SEGMENT + 2 * i + 1));
    }
    svm_tcg_task(vm);
    vmcb_set(vm, VMCB_GDTR, (arch_frame_read(frame, VCPU_GDTR) & 0xffff) << 32);
    vmcb_set(vm, VMCB_GDTR + 8, arch_frame_read(frame, VCPU_GDTR + 1));
    vmcb_set(vm, VMCB_IDTR, (arch_frame_read(frame, VCPU_IDTR) & 0xffff) << 32);
    vmcb_set(vm, VMCB_IDTR + 8, arch_frame_read(frame, VCPU_IDTR + 1));
    /* The privilege level is the top byte of a word whose other bytes are reserved and zero. */
    vmcb_set32(vm, VMCB_CPL - 3, (uint32_t)(arch_frame_read(frame, VCPU_CPL) & 3) << 24);
}

static void import_msrs(uint32_t vm, uint32_t frame)
{
    for (uint32_t i = 0; i < 4; i++) { /* star lstar cstar sfmask */
        vmcb_set(vm, VMCB_STAR + 8 * i, arch_frame_read(frame, VCPU_STAR + i));
    }
    vmcb_set(vm, VMCB_KERNEL_GS_BASE, arch_frame_read(frame, VCPU_KERNEL_GS_BASE));
    for (uint32_t i = 0; i < 3; i++) { /* sysenter cs esp eip */
        vmcb_set(vm, VMCB_SYSENTER_CS + 8 * i, arch_frame_read(frame, VCPU_SYSENTER_CS + i));
    }
}

/* Converts the monitor's event to the format of the control block, in *event; returns 0 if it is invalid. */
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
    return 1;
}

uint32_t svm_vcpu_import_part(uint32_t vm, uint32_t frame)
{
    uint64_t changed = arch_frame_read(frame, VCPU_CHANGED);
    uint64_t done;

    if (svm_guest[vm].refused) {
        svm_control_init(vm);
        svm_guest[vm].refused = 0;
        svm_debug_reset(vm);
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
        svm_debug_import(vm, frame);
    } else {
        return 0;
    }
    arch_frame_write(frame, VCPU_CHANGED, changed & ~done);
    return 1;
}

uint32_t svm_vcpu_import(uint32_t vm, uint32_t frame)
{
    uint64_t event;
    if (!import_event(frame, &event)) {
        arch_frame_write(frame, VCPU_EXIT_INFO1, 0); /* no field of the state is wrong */
        return 0;
    }
    svm_guest[vm].page = frame;
    vmcb_set(vm, VMCB_EVENT_INJECT, event);
    const uint64_t *page = direct((uint64_t)frame << 12); /* for words that may have any value */
#pragma GCC unroll 16
    for (uint32_t i = 0; i < 16; i++) {
        svm_guest[vm].gpr[i] = page[VCPU_GPR + i];
    }
    vmcb_set(vm, VMCB_RAX, svm_guest[vm].gpr[GPR_RAX]);
    vmcb_set(vm, VMCB_RSP, svm_guest[vm].gpr[GPR_RSP]);
    vmcb_set(vm, VMCB_RIP, arch_frame_read(frame, VCPU_RIP));
    vmcb_set(vm, VMCB_RFLAGS, (arch_frame_read(frame, VCPU_RFLAGS) & RFLAGS_DEFINED) | RFLAGS_ALWAYS);
    vmcb_set(vm, VMCB_TSC_OFFSET, arch_frame_read(frame, VCPU_TSC_OFFSET));
    vmcb_set(vm, VMCB_INT_STATE, arch_frame_read(frame, VCPU_INTERRUPT_SHADOW) & 1);
    svm_guest[vm].window = arch_frame_read(frame, VCPU_CONTROL) & VCPU_CONTROL_INTERRUPT_WINDOW;
    /* Checked in the control block, not in the page, which another thread of the monitor may change meanwhile. */
    if (!svm_long_mode_enterable(vm)) {
        svm_guest[vm].refused = 1;
        arch_frame_write(frame, VCPU_EXIT_INFO1, 0);
        return 0;
    }
    return 1;
}

static void export_exit(uint32_t vm, uint32_t frame)
{
    arch_frame_write(frame, VCPU_EXIT_INFO1, svm_guest[vm].info1);
    arch_frame_write(frame, VCPU_EXIT_INFO2, svm_guest[vm].info2);
    arch_frame_write(frame, VCPU_EXIT_NEXT_RIP, svm_guest[vm].next_rip);
    arch_frame_write(frame, VCPU_INJECT, vmcb_get(vm, VMCB_EVENT_INJECT));
    arch_frame_write(frame, VCPU_INTERRUPT_SHADOW, vmcb_get(vm, VMCB_INT_STATE) & 1);
    if (svm_guest[vm].fetched) {
        uint64_t low = vmcb_get(vm, VMCB_FETCHED);
        uint64_t high = vmcb_get(vm, VMCB_FETCHED + 8);
        uint64_t count = low & 0xf;
        arch_frame_write(frame, VCPU_FETCHED, count);
        arch_frame_write(frame, VCPU_FETCHED_BYTES, low >> 8 | high << 56);
        arch_frame_write(frame, VCPU_FETCHED_BYTES + 1, high >> 8);
    } else {
        arch_frame_write(frame, VCPU_FETCHED, 0);
    }
}

/* About sixty words at every exit to the monitor, so they are copied directly. The monitor reads them after the call
 * returns. */
void svm_vcpu_export(uint32_t vm, uint32_t frame)
{
    uint64_t *page = direct((uint64_t)frame << 12);
    const uint64_t *block = svm_block(vm);
    export_exit(vm, frame);
    if (svm_guest[vm].refused) {
        return; /* the page keeps the monitor's values; the next import reads all of them */
    }
    svm_guest[vm].gpr[GPR_RAX] = block[VMCB_RAX / 8];
    svm_guest[vm].gpr[GPR_RSP] = block[VMCB_RSP / 8];
#pragma GCC unroll 16
    for (uint32_t i = 0; i < 16; i++) {
        page[VCPU_GPR + i] = svm_guest[vm].gpr[i];
    }
    page[VCPU_RIP] = block[VMCB_RIP / 8];
    page[VCPU_RFLAGS] = block[VMCB_RFLAGS / 8];
    page[VCPU_CR0] = block[VMCB_CR0 / 8];
    page[VCPU_CR2] = block[VMCB_CR2 / 8];
    page[VCPU_CR3] = block[VMCB_CR3 / 8];
    page[VCPU_CR4] = block[VMCB_CR4 / 8];
    page[VCPU_EFER] = block[VMCB_EFER / 8] & ~EFER_SVME;
    svm_debug_export(vm, page);
    page[VCPU_CPL] = vmcb_get32(vm, VMCB_CPL - 3) >> 24;
    page[VCPU_CR8] = block[VMCB_INT_CONTROL / 8] & INT_CONTROL_TPR;
    page[VCPU_PAT] = block[VMCB_PAT / 8];
#pragma GCC unroll 8
    for (uint32_t i = 0; i < 8; i++) {
        page[VCPU_SEGMENT + 2 * i] = block[segment_offset[i] / 8];
        page[VCPU_SEGMENT + 2 * i + 1] = block[segment_offset[i] / 8 + 1];
    }
    page[VCPU_GDTR] = block[VMCB_GDTR / 8] >> 32;
    page[VCPU_GDTR + 1] = block[VMCB_GDTR / 8 + 1];
    page[VCPU_IDTR] = block[VMCB_IDTR / 8] >> 32;
    page[VCPU_IDTR + 1] = block[VMCB_IDTR / 8 + 1];
#pragma GCC unroll 4
    for (uint32_t i = 0; i < 4; i++) {
        page[VCPU_STAR + i] = block[VMCB_STAR / 8 + i];
    }
    page[VCPU_KERNEL_GS_BASE] = block[VMCB_KERNEL_GS_BASE / 8];
#pragma GCC unroll 3
    for (uint32_t i = 0; i < 3; i++) {
        page[VCPU_SYSENTER_CS + i] = block[VMCB_SYSENTER_CS / 8 + i];
    }
}
