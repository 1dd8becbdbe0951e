/* CPUID answered in the kernel (cpuid_answer.h). */
#include "guest/cpuid_answer.h"
#include "vmx/vmcs.h"
#include "vmx/vmx.h"

uint32_t vmx_cpuid_handle(uint32_t vm, const struct vmx_exit *exit)
{
    struct vmx_guest *guest = &vmx_guest[vm];
    struct cpuid_answer answer;
    if (!cpuid_answer(guest->page, (uint32_t)guest->gpr[GPR_RAX], (uint32_t)guest->gpr[GPR_RCX], &answer)) {
        return 0;
    }
    guest->gpr[GPR_RAX] = (uint32_t)answer.ab;
    guest->gpr[GPR_RBX] = answer.ab >> 32;
    guest->gpr[GPR_RCX] = (uint32_t)answer.cd;
    guest->gpr[GPR_RDX] = answer.cd >> 32;
    guest->field[VMX_RIP] += exit->length;
    guest->field[VMX_INTERRUPTIBILITY] &= ~(BLOCKED_BY_STI | BLOCKED_BY_MOV_SS); /* the shadow ends with it */
    return 1;
}
