/* The guest's state to and from this CPU's control structure. */
#include "vmx/vmcs.h"
#include "vmx/vmx.h"

const uint32_t vmx_encoding[VMX_NUM_FIELD] = {
    [VMX_RSP] = VMCS_GUEST_RSP,
    [VMX_RIP] = VMCS_GUEST_RIP,
    [VMX_RFLAGS] = VMCS_GUEST_RFLAGS,
    [VMX_INTERRUPTIBILITY] = VMCS_GUEST_INTERRUPTIBILITY,
    [VMX_PENDING_DEBUG] = VMCS_GUEST_PENDING_DEBUG,
    [VMX_CR0] = VMCS_GUEST_CR0,
    [VMX_CR3] = VMCS_GUEST_CR3,
    [VMX_CR4] = VMCS_GUEST_CR4,
    [VMX_EFER] = VMCS_GUEST_EFER,
    [VMX_PAT] = VMCS_GUEST_PAT,
    [VMX_PDPTE + 0] = VMCS_GUEST_PDPTE + 0,
    [VMX_PDPTE + 1] = VMCS_GUEST_PDPTE + 2,
    [VMX_PDPTE + 2] = VMCS_GUEST_PDPTE + 4,
    [VMX_PDPTE + 3] = VMCS_GUEST_PDPTE + 6,
    [VMX_CR0_SHADOW] = VMCS_CR0_SHADOW,
    [VMX_CR4_SHADOW] = VMCS_CR4_SHADOW,
    [VMX_DR7] = VMCS_GUEST_DR7,
#define SEGMENT(i)                                                                                                     \
    [VMX_SELECTOR + (i)] = VMCS_GUEST_SELECTOR + 2 * (i), [VMX_LIMIT + (i)] = VMCS_GUEST_LIMIT + 2 * (i),              \
                    [VMX_ACCESS + (i)] = VMCS_GUEST_ACCESS + 2 * (i), [VMX_BASE + (i)] = VMCS_GUEST_BASE + 2 * (i)
    SEGMENT(0),
    SEGMENT(1),
    SEGMENT(2),
    SEGMENT(3),
    SEGMENT(4),
    SEGMENT(5),
    SEGMENT(6),
    SEGMENT(7),
    [VMX_GDTR_LIMIT] = VMCS_GUEST_LIMIT + 16,
    [VMX_IDTR_LIMIT] = VMCS_GUEST_LIMIT + 18,
    [VMX_GDTR_BASE] = VMCS_GUEST_BASE + 16,
    [VMX_IDTR_BASE] = VMCS_GUEST_BASE + 18,
    [VMX_SYSENTER_CS] = VMCS_GUEST_SYSENTER_CS,
    [VMX_SYSENTER_ESP] = VMCS_GUEST_SYSENTER_ESP,
    [VMX_SYSENTER_EIP] = VMCS_GUEST_SYSENTER_EIP,
    [VMX_TSC_OFFSET] = VMCS_TSC_OFFSET,
};

/* Unrolled: eight values share a cache line, and encodings become constants. */
static inline __attribute__((always_inline)) void out(uint32_t vm, uint32_t from, uint32_t end)
{
    const uint64_t *field = vmx_guest[vm].field;
#pragma GCC unroll 64
    for (uint32_t i = from; i < end; i++) {
        vmx_write(vmx_encoding[i], field[i]);
    }
}

static inline __attribute__((always_inline)) void in(uint32_t vm, uint32_t from, uint32_t end)
{
    uint64_t *field = vmx_guest[vm].field;
#pragma GCC unroll 64
    for (uint32_t i = from; i < end; i++) {
        field[i] = vmx_read(vmx_encoding[i]);
    }
}

uint32_t vmx_state_out(uint32_t vm)
{
    uint32_t *changed = &vmx_guest[vm].changed;
    if (!vmx_take(vm)) {
        *changed = VMX_GROUP_ALL;
        return 1;
    }
    if (*changed & VMX_GROUP_CONTROL) {
        out(vm, VMX_RUN_END, VMX_CONTROL_END);
        *changed &= ~VMX_GROUP_CONTROL;
        return 1;
    }
    if (*changed & VMX_GROUP_SEGMENTS) {
        out(vm, VMX_DEBUG_END, VMX_SEGMENTS_END);
        *changed &= ~VMX_GROUP_SEGMENTS;
        return 1;
    }
    if (*changed != 0) { /* the other groups are short */
        out(vm, VMX_CONTROL_END, VMX_DEBUG_END);
        out(vm, VMX_SEGMENTS_END, VMX_NUM_FIELD);
        *changed = 0;
        return 1;
    }
    return 0;
}

/* With single steps on, the processor wants one that a shadow has put off to be recorded. */
static void note_single_step(uint32_t vm)
{
    uint64_t shadow = vmx_guest[vm].field[VMX_INTERRUPTIBILITY] & (BLOCKED_BY_STI | BLOCKED_BY_MOV_SS);
    if (shadow != 0 && (vmx_guest[vm].field[VMX_RFLAGS] & FLAGS_TRAP) != 0) {
        vmx_guest[vm].field[VMX_PENDING_DEBUG] |= PENDING_SINGLE_STEP;
    } else if (shadow != 0) {
        vmx_guest[vm].field[VMX_PENDING_DEBUG] &= ~PENDING_SINGLE_STEP;
    }
}

void vmx_entry_out(uint32_t vm)
{
    const struct vmx_guest *guest = &vmx_guest[vm];
    uint64_t event = vmx_event_fit(guest->event, guest->field[VMX_CR0]);
    uint64_t long_mode = (vmx_read(VMCS_GUEST_EFER) & EFER_LMA) ? ENTRY_LONG_MODE : 0;
    note_single_step(vm);
    out(vm, 0, VMX_RUN_END);
    vmx_write(VMCS_PRIMARY_CONTROLS,
              vmx_primary_controls() | (guest->window ? PRIMARY_WINDOW : 0) | (guest->dr_loaded ? 0 : PRIMARY_MOV_DR));
    vmx_write(VMCS_ENTRY_CONTROLS, vmx_entry_controls() | long_mode);
    vmx_write(VMCS_ENTRY_EVENT, (uint32_t)event);
    vmx_write(VMCS_ENTRY_ERROR_CODE, event >> 32);
}

void vmx_exit_in(uint32_t vm, struct vmx_exit *exit)
{
    exit->reason = (uint32_t)vmx_read(VMCS_EXIT_REASON);
    exit->qualification = vmx_read(VMCS_EXIT_QUALIFICATION);
    exit->int_info = vmx_read(VMCS_EXIT_INT_INFO);
    exit->int_error = vmx_read(VMCS_EXIT_INT_ERROR);
    exit->length = vmx_read(VMCS_INSTRUCTION_LENGTH);
    exit->instruction = vmx_read(VMCS_INSTRUCTION_INFO);
    exit->guest_physical = vmx_read(VMCS_GUEST_PHYSICAL);
    if (exit->reason & REASON_ENTRY_FAILED) {
        return;
    }
    /* The injected event has been delivered, or is reported here again. */
    vmx_guest[vm].event = vmx_event_again(vmx_read(VMCS_VECTORING_INFO), vmx_read(VMCS_VECTORING_ERROR));
    in(vm, 0, VMX_RUN_END);
    uint32_t left_nmi = exit->reason == REASON_EPT_VIOLATION && (exit->qualification & QUALIFICATION_NMI_UNBLOCKED);
    if (left_nmi && vmx_guest[vm].event == 0) { /* the return from an NMI has not come about */
        vmx_guest[vm].field[VMX_INTERRUPTIBILITY] |= BLOCKED_BY_NMI;
    }
}

void vmx_state_in(uint32_t vm)
{
    /* The compiler is to compute the address anew: behind an exit the timing analysis knows nothing of one that comes from the
     * stack, not even that it begins a cache line. */
    __asm__("" : "+r"(vm));
    in(vm, VMX_RUN_END, VMX_CR0_SHADOW);
    in(vm, VMX_CONTROL_END, VMX_MSRS_END);
}
