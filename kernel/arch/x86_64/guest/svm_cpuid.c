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

/* Used only by the CPU that runs the guest. */
static struct {
    uint32_t count;
    struct {
        uint32_t leaf;
        uint32_t subleaf;
        uint64_t ab; /* eax, ebx in the upper half */
        uint64_t cd;
    } answer[NUM_CPUID_ANSWER];
} svm_cpuid[NUM_VM];

void svm_cpuid_reset(uint32_t vm)
{
    svm_cpuid[vm].count = 0;
}

void svm_cpuid_import(uint32_t vm, uint32_t frame)
{
    uint64_t count = arch_frame_read(frame, VCPU_CPUID_COUNT);
    uint32_t used = count < NUM_CPUID_ANSWER ? (uint32_t)count : NUM_CPUID_ANSWER;
    svm_cpuid[vm].count = used;
    for (uint32_t i = 0; i < used; i++) {
        uint64_t question = arch_frame_read(frame, VCPU_CPUID + 3 * i);
        svm_cpuid[vm].answer[i].leaf = (uint32_t)question;
        svm_cpuid[vm].answer[i].subleaf = (uint32_t)(question >> 32);
        svm_cpuid[vm].answer[i].ab = arch_frame_read(frame, VCPU_CPUID + 3 * i + 1);
        svm_cpuid[vm].answer[i].cd = arch_frame_read(frame, VCPU_CPUID + 3 * i + 2);
    }
}

uint32_t svm_cpuid_handle(uint32_t vm)
{
    uint32_t leaf = (uint32_t)vmcb_get(vm, VMCB_RAX);
    uint32_t subleaf = (uint32_t)svm_guest[vm].gpr[GPR_RCX];
    uint32_t count = svm_cpuid[vm].count;
    uint32_t i = 0;
    while (i < NUM_CPUID_ANSWER && i < count &&
           (svm_cpuid[vm].answer[i].leaf != leaf ||
            (svm_cpuid[vm].answer[i].subleaf != subleaf && svm_cpuid[vm].answer[i].subleaf != VCPU_CPUID_ANY))) {
        i++;
    }
    if (i >= NUM_CPUID_ANSWER || i >= count) {
        return 0;
    }
    vmcb_set(vm, VMCB_RAX, (uint32_t)svm_cpuid[vm].answer[i].ab);
    svm_guest[vm].gpr[GPR_RBX] = svm_cpuid[vm].answer[i].ab >> 32;
    svm_guest[vm].gpr[GPR_RCX] = (uint32_t)svm_cpuid[vm].answer[i].cd;
    svm_guest[vm].gpr[GPR_RDX] = svm_cpuid[vm].answer[i].cd >> 32;
    vmcb_set(vm, VMCB_RIP, svm_has_next_rip ? vmcb_get(vm, VMCB_NEXT_RIP) : vmcb_get(vm, VMCB_RIP) + LENGTH_CPUID);
    vmcb_set(vm, VMCB_INT_STATE, vmcb_get(vm, VMCB_INT_STATE) & ~1ul); /* the shadow ends with the instruction */
    return 1;
}
