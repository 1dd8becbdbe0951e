/* What CPUID reports to the guest: the host's values, less everything that is not virtualised. */
#ifndef VMM_CPUID_H
#define VMM_CPUID_H

#include <stdint.h>

struct cpuid_result {
    uint32_t eax, ebx, ecx, edx;
};

/* Leaf and subleaf as the guest asks; `host` is what the host's CPU answers to the same question (the caller runs
 * the instruction, so that this stays testable); `osxsave` etc. need no care because XSAVE is hidden. */
struct cpuid_result cpuid_filter(uint32_t leaf, uint32_t subleaf, struct cpuid_result host);

/* Gives the kernel the answers to what guests ask, so that those questions don't exit. Once per start of the guest. */
void cpuid_publish(void);

/* CPUID exit, for the questions that are not published: emulates the instruction. */
void cpuid_exit(void);

#endif
