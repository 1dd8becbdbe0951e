/* Bits of CR0 and CR4 that are not the guest's to set. It reads them from a shadow; a write that differs from the shadow
 * exits. If the guest may have what it writes, the shadow becomes that and the instruction runs again: now it does not exit,
 * and the processor does the rest of it with all its checks. */
#include "abi.h"
#include "vmx/vmcs.h"
#include "vmx/vmx.h"

#define EXCEPTION_PROTECTION 13ul
#define TYPE_MOV_TO 0u

static uint64_t operand(uint32_t vm, uint64_t qualification)
{
    uint32_t number = (qualification >> 8) & 0xf;
    return number == GPR_RSP ? vmx_guest[vm].field[VMX_RSP] : vmx_guest[vm].gpr[number];
}

static uint32_t refuse(uint32_t vm)
{
    vmx_guest[vm].event =
        EVENT_VALID | EVENT_HAS_ERROR_CODE | (uint64_t)EVENT_TYPE_EXCEPTION << EVENT_TYPE_SHIFT | EXCEPTION_PROTECTION;
    return 1;
}

static uint32_t allow(uint32_t vm, uint32_t shadow, uint64_t value)
{
    vmx_guest[vm].field[shadow] = value;
    vmx_write(vmx_encoding[shadow], value);
    return 1;
}

uint32_t vmx_control_handle(uint32_t vm, const struct vmx_exit *exit)
{
    uint64_t value = operand(vm, exit->qualification);
    uint32_t number = exit->qualification & 0xf;
    if (((exit->qualification >> 4) & 3) != TYPE_MOV_TO) {
        return 0;
    }
    if (number == 0) {
        return (value & (CR0_CD | CR0_NW)) == CR0_NW ? refuse(vm) : allow(vm, VMX_CR0_SHADOW, value);
    }
    if (number == 4) {
        return (value & CR4_MASK & ~CR4_MCE) != 0 ? refuse(vm) : allow(vm, VMX_CR4_SHADOW, value);
    }
    return 0;
}
