/* The CPUID exit. */
#include "cpuid.h"

#include "vcpu.h"

void cpuid_exit(void)
{
    uint32_t leaf = (uint32_t)vcpu_reg(RAX), subleaf = (uint32_t)vcpu_reg(RCX);
    struct cpuid_result host;
    __asm__ volatile("cpuid"
                     : "=a"(host.eax), "=b"(host.ebx), "=c"(host.ecx), "=d"(host.edx)
                     : "a"(leaf), "c"(subleaf));
    struct cpuid_result result = cpuid_filter(leaf, subleaf, host);
    vcpu_set_reg(RAX, result.eax);
    vcpu_set_reg(RBX, result.ebx);
    vcpu_set_reg(RCX, result.ecx);
    vcpu_set_reg(RDX, result.edx);
    vcpu_skip(2);
}
