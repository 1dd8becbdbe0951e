/* The policy: lists of what passes. A bit that is not named here is hidden, so a feature of a future CPU never
 * reaches a guest before this list is extended. */
#include "cpu/cpuid.h"

#include "cpu/features.h"

#define BIT(n) (1u << (n))

/* Leaf 1 ecx: SSE3 PCLMULQDQ SSSE3 CX16 SSE4.1 SSE4.2 MOVBE POPCNT AES RDRAND.
 * Hidden: MONITOR, VMX, FMA, PCID, XSAVE, OSXSAVE, AVX, F16C. */
#define LEAF1_ECX (BIT(0) | BIT(1) | BIT(9) | BIT(13) | BIT(19) | BIT(20) | BIT(22) | BIT(23) | BIT(25) | BIT(30))
/* The monitor emulates these, whatever the host has: TSC-deadline timer, "there is a hypervisor"; the local APIC. */
#define LEAF1_ECX_EMULATED (BIT(24) | BIT(31))
#define LEAF1_EDX_EMULATED BIT(9)
#define LEAF1_ECX_X2APIC BIT(21)
#define LEAF1_EDX_SEVERAL BIT(28) /* the processor has several identifiers */
#define EXT1_ECX_CORES BIT(1)     /* and they are cores */
#define LEAF6_EAX_TIMER_NEVER_STOPS BIT(2)
/* Leaf 1 edx: FPU VME DE PSE TSC MSR PAE CX8 SEP PGE CMOV PAT PSE36 CLFSH MMX FXSR SSE SSE2.
 * Hidden: MCE, MTRR, MCA. */
#define LEAF1_EDX                                                                                                      \
    (BIT(0) | BIT(1) | BIT(2) | BIT(3) | BIT(4) | BIT(5) | BIT(6) | BIT(8) | BIT(11) | BIT(13) | BIT(15) | BIT(16) |   \
     BIT(17) | BIT(19) | BIT(23) | BIT(24) | BIT(25) | BIT(26))
/* Leaf 7 ebx: FSGSBASE BMI1 SMEP BMI2 ERMS RDSEED ADX SMAP CLFLUSHOPT SHA. Hidden: INVPCID, all of AVX. */
#define LEAF7_EBX (BIT(0) | BIT(3) | BIT(7) | BIT(8) | BIT(9) | BIT(18) | BIT(19) | BIT(20) | BIT(23) | BIT(29))
#define LEAF7_EDX BIT(4) /* FSRM */
/* 0x80000001 ecx: LAHF CR8-legacy ABM SSE4A 3DNowPrefetch. Hidden: SVM, performance counters, topology. */
#define EXT1_ECX (BIT(0) | BIT(4) | BIT(5) | BIT(6) | BIT(8))
/* 0x80000001 edx: leaf 1's bits that AMD repeats, SYSCALL NX MMXEXT FXSR-OPT 1-GiB-pages LM. Hidden: RDTSCP. */
#define EXT1_EDX                                                                                                       \
    ((LEAF1_EDX & ~(BIT(11) | BIT(19) | BIT(25) | BIT(26))) | BIT(11) | BIT(20) | BIT(22) | BIT(25) | BIT(26) | BIT(29))
#define EXT7_EDX_INVARIANT_TSC BIT(8)

#define HYPERVISOR_BASE 0x40000000u
#define KVM_BASE 0x40000100u
#define KVM_CLOCK (BIT(3) | BIT(24)) /* registers 0x4b564d00 and 01; the same on all CPUs */
#define KVM_SHARED_END BIT(6)
#define MAX_BASIC 0x07u /* the leaves above describe what is hidden */
#define MAX_EXTENDED 0x80000008u

static uint32_t at_most(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static struct cpuid_result basic(uint32_t leaf, uint32_t subleaf, struct cpuid_result host, struct cpuid_guest guest)
{
    const struct cpuid_result none = {0, 0, 0, 0};
    switch (leaf) {
    case 0:
        host.eax = at_most(host.eax, MAX_BASIC);
        return host;
    case 1:
        host.ebx = (host.ebx & 0x0000ff00) | guest.number << 24; /* CLFLUSH size, APIC identifier */
        host.ecx = (host.ecx & LEAF1_ECX) | LEAF1_ECX_EMULATED;
        host.edx = (host.edx & LEAF1_EDX) | LEAF1_EDX_EMULATED;
        if (guest.cpus > 1) {
            host.ebx |= guest.cpus << 16;
            host.edx |= LEAF1_EDX_SEVERAL;
        }
        if ((guest.features & FEATURE_X2APIC) != 0) {
            host.ecx |= LEAF1_ECX_X2APIC;
        }
        return host;
    case 2:
    case 4:                                                         /* caches */
        host.eax &= ~0xffffc000u * (leaf == 4) | ~0u * (leaf == 2); /* one thread shares each */
        if (leaf == 4 && host.eax != 0) {
            host.eax |= (guest.cpus - 1) << 26; /* cores */
        }
        return host;
    case 6:
        return (struct cpuid_result){LEAF6_EAX_TIMER_NEVER_STOPS, 0, 0, 0};
    case 7:
        if (subleaf != 0) {
            return none;
        }
        return (struct cpuid_result){0, host.ebx & LEAF7_EBX, 0, host.edx & LEAF7_EDX};
    default: /* power, monitor, topology, performance, extended state: not there */
        return none;
    }
}

static struct cpuid_result extended(uint32_t leaf, struct cpuid_result host, struct cpuid_guest guest)
{
    const struct cpuid_result none = {0, 0, 0, 0};
    switch (leaf & 0xff) {
    case 0:
        host.eax = at_most(host.eax, MAX_EXTENDED);
        return host;
    case 1:
        host.ebx = 0;
        host.ecx &= EXT1_ECX;
        host.edx = (host.edx & EXT1_EDX) | LEAF1_EDX_EMULATED;
        host.ecx |= guest.cpus > 1 ? EXT1_ECX_CORES : 0;
        return host;
    case 2:
    case 3:
    case 4: /* brand string */
    case 5:
    case 6: /* caches */
        return host;
    case 7: /* the kernel keeps all CPUs' counters together, and a guest never leaves its CPU */
        return (struct cpuid_result){0, 0, 0, EXT7_EDX_INVARIANT_TSC};
    case 8:
        return (struct cpuid_result){host.eax & 0xffff, 0, guest.cpus - 1, 0}; /* address sizes; cores */
    default:
        return none;
    }
}

/* What guests know of KVM's interface and the monitor has. */
static uint32_t kvm_features(uint32_t features)
{
    return ((features & FEATURE_END) != 0 ? KVM_SHARED_END : 0) | ((features & FEATURE_CLOCK) != 0 ? KVM_CLOCK : 0);
}

struct cpuid_result cpuid_filter(uint32_t leaf, uint32_t subleaf, struct cpuid_result host, struct cpuid_guest guest)
{
    if (leaf <= MAX_BASIC) {
        return basic(leaf, subleaf, host, guest);
    }
    if (leaf == HYPERVISOR_BASE) { /* "AshlarAshlar" in ebx ecx edx */
        return (struct cpuid_result){HYPERVISOR_BASE, 0x6c687341, 0x73417261, 0x72616c68};
    }
    /* "KVMKVMKVM": nothing but what is announced there. Linux takes x2APIC from those only that it knows. */
    if (leaf == KVM_BASE && guest.features != 0) {
        return (struct cpuid_result){KVM_BASE + 1, 0x4b4d564b, 0x564b4d56, 0x4d};
    }
    if (leaf == KVM_BASE + 1) {
        return (struct cpuid_result){kvm_features(guest.features), 0, 0, 0};
    }
    if (leaf >= 0x80000000u && leaf <= MAX_EXTENDED) {
        return extended(leaf, host, guest);
    }
    return (struct cpuid_result){0, 0, 0, 0};
}
