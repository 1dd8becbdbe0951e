/* CPUID answered in the kernel (cpuid_answer.h). */
#include "guest/cpuid_answer.h"
#include "guest/svm.h"
#include "guest/vmcb.h"

#define LENGTH_CPUID 2u
#define GPR_RCX 1u
#define GPR_RDX 2u
#define GPR_RBX 3u

uint32_t svm_cpuid_handle(uint32_t vm)
{
    struct cpuid_answer answer;
    uint32_t leaf = (uint32_t)vmcb_get(vm, VMCB_RAX);
    uint32_t subleaf = (uint32_t)svm_guest[vm].gpr[GPR_RCX];
    if (!cpuid_answer(svm_guest[vm].page, leaf, subleaf, &answer)) {
        return 0;
    }
    vmcb_set(vm, VMCB_RAX, (uint32_t)answer.ab);
    svm_guest[vm].gpr[GPR_RBX] = answer.ab >> 32;
    svm_guest[vm].gpr[GPR_RCX] = (uint32_t)answer.cd;
    svm_guest[vm].gpr[GPR_RDX] = answer.cd >> 32;
    vmcb_set(vm, VMCB_RIP, svm_has_next_rip ? vmcb_get(vm, VMCB_NEXT_RIP) : vmcb_get(vm, VMCB_RIP) + LENGTH_CPUID);
    vmcb_set(vm, VMCB_INT_STATE, vmcb_get(vm, VMCB_INT_STATE) & ~1ul); /* the shadow ends with the instruction */
    return 1;
}
