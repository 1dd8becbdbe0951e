/* Translates exits of VT-x to the vendor-neutral reasons of abi.h. */
#include "abi.h"
#include "guest/guest.h"
#include "vmx/vmcs.h"
#include "vmx/vmx.h"

#define EXCEPTION_INVALID_OPCODE 6u
#define EXCEPTION_PROTECTION 13u
#define IO_SIZE 7ul /* bytes - 1 */
#define IO_IN (1ul << 3)
#define IO_STRING (1ul << 4)
#define IO_REP (1ul << 5)
#define IO_ADDRESS_SIZE_SHIFT                                                                                          \
    7u /* of string instructions, in the instruction information: 0, 1, 2 for 16, 32, 64 bits */

static void next_rip(uint32_t vm, const struct vmx_exit *exit)
{
    vmx_guest[vm].next_rip = vmx_guest[vm].field[VMX_RIP] + exit->length;
}

static uint32_t exit_io(uint32_t vm, const struct vmx_exit *exit)
{
    uint64_t port = (exit->qualification >> 16) & 0xffff;
    uint64_t size = (exit->qualification & IO_SIZE) + 1;
    uint64_t in = (exit->qualification & IO_IN) ? 1 : 0;
    uint64_t string = (exit->qualification & IO_STRING) ? 1 : 0;
    uint64_t rep = (exit->qualification & IO_REP) ? 1 : 0;
    uint64_t address = string ? 2ul << ((exit->instruction >> IO_ADDRESS_SIZE_SHIFT) & 3) : 0;
    vmx_guest[vm].info1 = port | size << 16 | in << 24 | string << 25 | rep << 26 | address << 32;
    next_rip(vm, exit);
    return VCPU_EXIT_IO;
}

static uint32_t exit_memory(uint32_t vm, const struct vmx_exit *exit)
{
    uint64_t write = (exit->qualification & QUALIFICATION_WRITE) ? 1 : 0;
    uint64_t fetch = (exit->qualification & QUALIFICATION_FETCH) ? 2 : 0;
    uint64_t linear = exit->qualification & QUALIFICATION_LINEAR;
    uint64_t walk = linear != 0 && (exit->qualification & QUALIFICATION_FINAL) == 0 ? 4 : 0;
    vmx_guest[vm].info1 = exit->guest_physical;
    vmx_guest[vm].info2 = write | fetch | walk;
    return VCPU_EXIT_MEMORY;
}

static uint32_t exit_instruction(uint32_t vm, uint64_t exception)
{
    vmx_guest[vm].info1 = exception;
    return VCPU_EXIT_INSTRUCTION;
}

static uint32_t exit_after(uint32_t vm, const struct vmx_exit *exit, uint32_t reason)
{
    next_rip(vm, exit);
    return reason;
}

/* info1: the field that is wrong, which vmx_vcpu_report_part looks for; info2: the processor's word. */
static uint32_t exit_refused(uint32_t vm, const struct vmx_exit *exit)
{
    vmx_guest[vm].refused = 1;
    vmx_guest[vm].info2 = (uint64_t)exit->reason | exit->qualification << 32;
    return VCPU_EXIT_INVALID_STATE;
}

uint32_t vmx_vcpu_report_part(uint32_t vm)
{
    if (vmx_guest[vm].refused) {
        vmx_guest[vm].info1 = vmx_wrong_field(vm);
        return 0;
    }
    return guest_machine_check_part(&vmx_guest[vm].bank, &vmx_guest[vm].info2);
}

static uint32_t exit_machine_check(uint32_t vm)
{
    vmx_guest[vm].info1 = guest_machine_check(&vmx_guest[vm].bank);
    return VCPU_EXIT_MACHINE_CHECK;
}

uint32_t vmx_exit_reason(uint32_t vm, const struct vmx_exit *exit)
{
    uint32_t reason = exit->reason & 0xffff;
    vmx_guest[vm].info1 = 0;
    vmx_guest[vm].info2 = 0;
    vmx_guest[vm].next_rip = 0;
    if (reason == REASON_ENTRY_MACHINE_CHECK ||
        (reason == REASON_EXCEPTION && (exit->int_info & 0xff) == EXCEPTION_MACHINE_CHECK)) {
        return exit_machine_check(vm);
    }
    if ((exit->reason & REASON_ENTRY_FAILED) || reason == REASON_REFUSED) {
        return exit_refused(vm, exit);
    }
    switch (reason) {
    case REASON_IO:
        return exit_io(vm, exit);
    case REASON_EPT_VIOLATION:
        return exit_memory(vm, exit);
    case REASON_CPUID:
        return exit_after(vm, exit, VCPU_EXIT_CPUID);
    case REASON_MSR_READ:
        return exit_after(vm, exit, VCPU_EXIT_MSR_READ);
    case REASON_MSR_WRITE:
        return exit_after(vm, exit, VCPU_EXIT_MSR_WRITE);
    case REASON_HLT:
        return exit_after(vm, exit, VCPU_EXIT_HALT);
    case REASON_VMCALL:
        return exit_after(vm, exit, VCPU_EXIT_HYPERCALL);
    case REASON_INVD:
    case REASON_WBINVD:
        return exit_after(vm, exit, VCPU_EXIT_CACHE);
    case REASON_WINDOW:
        return VCPU_EXIT_INTERRUPT_WINDOW;
    case REASON_TRIPLE_FAULT:
        return VCPU_EXIT_SHUTDOWN;
    case REASON_RDPMC:
        return exit_instruction(vm, EXCEPTION_PROTECTION);
    case REASON_GETSEC:
    case REASON_MONITOR:
    case REASON_MWAIT:
    case REASON_XSETBV:
    case REASON_INVEPT:
    case REASON_INVVPID:
        return exit_instruction(vm, EXCEPTION_INVALID_OPCODE);
    default:
        if (reason >= REASON_VMCLEAR && reason <= REASON_VMXON) {
            return exit_instruction(vm, EXCEPTION_INVALID_OPCODE);
        }
        vmx_guest[vm].info1 = reason | exit->qualification << 32;
        return VCPU_EXIT_UNSUPPORTED;
    }
}
