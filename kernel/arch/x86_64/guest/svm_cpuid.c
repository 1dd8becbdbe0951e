/* CPUID answered in the kernel from the monitor's list in the vcpu page, because programs execute it dozens of times
 * when they start. The list is the monitor's policy; leaves that are not in it exit to the monitor. */
#include "abi.h"
#include "arch.h"
#include "guest/svm.h"
#include "guest/vmcb.h"

#define LENGTH_CPUID 2u
#define GPR_RCX 1u
#define GPR_RDX 2u
#define GPR_RBX 3u

uint32_t svm_cpuid_handle(uint32_t vm)
{
    uint32_t page = svm_guest[vm].page;
    uint32_t leaf = (uint32_t)vmcb_get(vm, VMCB_RAX);
    uint32_t subleaf = (uint32_t)svm_guest[vm].gpr[GPR_RCX];
    uint64_t exact = (uint64_t)subleaf << 32 | leaf;
    uint64_t any = (uint64_t)VCPU_CPUID_ANY << 32 | leaf;
    uint64_t count = arch_frame_read(page, VCPU_CPUID_COUNT);
    /* Another thread of the monitor may change the list meanwhile: a word is read once, and may have any value. */
    for (uint32_t i = 0; i < NUM_CPUID_ANSWER && i < count; i++) {
        uint64_t question = arch_frame_read(page, VCPU_CPUID + 3 * i);
        if (question != exact && question != any) {
            continue;
        }
        uint64_t ab = arch_frame_read(page, VCPU_CPUID + 3 * i + 1);
        uint64_t cd = arch_frame_read(page, VCPU_CPUID + 3 * i + 2);
        vmcb_set(vm, VMCB_RAX, (uint32_t)ab);
        svm_guest[vm].gpr[GPR_RBX] = ab >> 32;
        svm_guest[vm].gpr[GPR_RCX] = (uint32_t)cd;
        svm_guest[vm].gpr[GPR_RDX] = cd >> 32;
        vmcb_set(vm, VMCB_RIP, svm_has_next_rip ? vmcb_get(vm, VMCB_NEXT_RIP) : vmcb_get(vm, VMCB_RIP) + LENGTH_CPUID);
        vmcb_set(vm, VMCB_INT_STATE, vmcb_get(vm, VMCB_INT_STATE) & ~1ul); /* the shadow ends with the instruction */
        return 1;
    }
    return 0;
}
