/* CPUID: the answers that the kernel gives, and the exit for all other questions. */
#include "cpu/cpuid.h"

#include "machine.h"

#define SUBLEAF_ANY VCPU_CPUID_ANY

/* What guests ask, most frequent first: each program of theirs, when it starts, asks for the caches a dozen times and
 * for the features once. */
static const struct {
    uint32_t leaf, subleaf;
} published[] = {
    {0x80000000, SUBLEAF_ANY},
    {0x80000005, SUBLEAF_ANY},
    {0x80000006, SUBLEAF_ANY},
    {0x80000008, SUBLEAF_ANY},
    {0x8000001d, 3},
    {7, 0},
    {1, SUBLEAF_ANY},
    {0, SUBLEAF_ANY},
    {0x80000001, SUBLEAF_ANY},
    {0x80000007, SUBLEAF_ANY},
    {7, 1},
    {2, SUBLEAF_ANY},
    {4, 0},
    {4, 1},
    {4, 2},
    {4, 3},
    {4, 4},
    {6, SUBLEAF_ANY},
    {0x80000002, SUBLEAF_ANY},
    {0x80000003, SUBLEAF_ANY},
    {0x80000004, SUBLEAF_ANY},
    {0x40000000, SUBLEAF_ANY},
};
_Static_assert(sizeof published / sizeof published[0] <= NUM_CPUID_ANSWER, "the vcpu page has no room for more");

static struct cpuid_result answer(const struct cpu *cpu, uint32_t leaf, uint32_t subleaf)
{
    struct cpuid_result host;
    __asm__ volatile("cpuid"
                     : "=a"(host.eax), "=b"(host.ebx), "=c"(host.ecx), "=d"(host.edx)
                     : "a"(leaf), "c"(subleaf));
    return cpuid_filter(leaf, subleaf, host, (struct cpuid_guest){cpu->number, machine.cpus, machine.features});
}

void cpuid_publish(struct cpu *cpu)
{
    volatile uint64_t *vcpu = cpu->page;
    uint32_t count = sizeof published / sizeof published[0];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t leaf = published[i].leaf, subleaf = published[i].subleaf;
        struct cpuid_result result = answer(cpu, leaf, subleaf == SUBLEAF_ANY ? 0 : subleaf);
        vcpu[VCPU_CPUID + 3 * i] = leaf | (uint64_t)subleaf << 32;
        vcpu[VCPU_CPUID + 3 * i + 1] = result.eax | (uint64_t)result.ebx << 32;
        vcpu[VCPU_CPUID + 3 * i + 2] = result.ecx | (uint64_t)result.edx << 32;
    }
    vcpu[VCPU_CPUID_COUNT] = count;
}

void cpuid_exit(struct cpu *cpu)
{
    volatile uint64_t *vcpu = cpu->page;
    struct cpuid_result result = answer(cpu, (uint32_t)vcpu_reg(vcpu, RAX), (uint32_t)vcpu_reg(vcpu, RCX));
    vcpu_set_reg(vcpu, RAX, result.eax);
    vcpu_set_reg(vcpu, RBX, result.ebx);
    vcpu_set_reg(vcpu, RCX, result.ecx);
    vcpu_set_reg(vcpu, RDX, result.edx);
    vcpu_skip(vcpu, 2);
}
