/* Running a guest on VT-x until its monitor is needed. */
#include "abi.h"
#include "arch.h"
#include "cpu/mitigations.h"
#include "guest/guest.h"
#include "thread/fpu.h"
#include "vmx/vmcs.h"
#include "vmx/vmx.h"

#define INT_TYPE_INSTRUCTION 5ul /* INT1, whose exception comes behind it */

struct vmx_guest vmx_guest[NUM_VM];

void vmx_vcpu_init(uint32_t vm)
{
    vmx_guest[vm] = (struct vmx_guest){.cpu = NONE, .changed = VMX_GROUP_ALL};
    vmx_reset_state(vm);
    vmx_debug_reset(vm);
    fpu_reset_guest(vm);
}

void vmx_vcpu_flush(uint32_t vm)
{
    __atomic_store_n(&vmx_guest[vm].flush, 1, __ATOMIC_RELEASE);
}

/* One entry and its exit. */
static void enter(uint32_t vm, uint32_t nested_root, struct vmx_exit *exit)
{
    vmx_debug_enter(vm);
    vmx_entry_out(vm);
    if (__atomic_exchange_n(&vmx_guest[vm].flush, 0, __ATOMIC_ACQ_REL)) {
        vmx_drop_translations(ept_pointer(nested_root));
    }
    uint32_t error = vmx_launch(vm);
    if (error != 0) {
        *exit = (struct vmx_exit){.reason = REASON_REFUSED, .qualification = error};
        return;
    }
    vmx_exit_in(vm, exit);
}

/* Handles exits that need no monitor. 1 if the guest can continue, else 0. */
static uint32_t handled_here(uint32_t vm, const struct vmx_exit *exit)
{
    if (exit->reason == REASON_CPUID) {
        return vmx_cpuid_handle(vm, exit);
    }
    if (exit->reason == REASON_CR_ACCESS) {
        return vmx_control_handle(vm, exit);
    }
    if (exit->reason == REASON_DR_ACCESS) {
        vmx_debug_load(vm);
        return 1;
    }
    return 0;
}

/* Gives the guest the exception that it raised. Returns 1; 0 if it arose during the delivery of another event, which the
 * guest cannot recover from. */
static uint32_t reinject_exception(uint32_t vm, const struct vmx_exit *exit)
{
    struct vmx_guest *guest = &vmx_guest[vm];
    uint64_t vector = exit->int_info & 0xff;
    if (guest->event & EVENT_VALID) {
        return 0;
    }
    guest->event = EVENT_VALID | (uint64_t)EVENT_TYPE_EXCEPTION << EVENT_TYPE_SHIFT | vector;
    if (vector == EXCEPTION_ALIGNMENT) {
        guest->event |= EVENT_HAS_ERROR_CODE | exit->int_error << 32;
    } else if (((exit->int_info >> EVENT_TYPE_SHIFT) & 7) == INT_TYPE_INSTRUCTION) {
        guest->field[VMX_RIP] += exit->length;
    } else {
        vmx_debug_raise(vm, exit->qualification);
    }
    return 1;
}

/* VCPU_EXIT_* of an exit that the loop does not continue after. */
static uint32_t leave(uint32_t vm, const struct vmx_exit *exit)
{
    uint64_t vector = exit->int_info & 0xff;
    if (exit->reason == REASON_INTERRUPT || exit->reason == REASON_INIT) {
        return VCPU_EXIT_NONE;
    }
    if (exit->reason == REASON_EXCEPTION && ((exit->int_info >> EVENT_TYPE_SHIFT) & 7) == EVENT_TYPE_NMI) {
        vmx_nmi();
        return VCPU_EXIT_NONE;
    }
    /* The guest gets its exception, but not in this loop: a guest whose handler raises the same exception again would keep
     * it turning, and no interrupt would be served (CVE-2015-8104), since exceptions come before interrupts. */
    if (exit->reason == REASON_EXCEPTION && vector != EXCEPTION_MACHINE_CHECK && reinject_exception(vm, exit)) {
        return VCPU_EXIT_NONE;
    }
    return vmx_exit_reason(vm, exit);
}

uint32_t vmx_vcpu_load_part(uint32_t vm)
{
    return vmx_state_out(vm);
}

/* Requires: interrupts off. Each turn of the loop lets the guest execute an instruction, so that an interrupt that waits ends
 * it at the next entry. */
uint32_t vmx_vcpu_enter(uint32_t vm, uint32_t nested_root)
{
    struct vmx_exit exit;
    mitigations_around_guest();
    vmx_host_begin(nested_root);
    do {
        enter(vm, nested_root, &exit);
    } while (handled_here(vm, &exit));
    vmx_state_in(vm);
    vmx_debug_leave(vm);
    vmx_host_end();
    mitigations_around_guest();
    return leave(vm, &exit);
}
