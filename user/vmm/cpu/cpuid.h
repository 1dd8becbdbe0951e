/* What CPUID reports to the guest: the host's values, less everything that is not virtualised. */
#ifndef VMM_CPUID_H
#define VMM_CPUID_H

#include "cpu/cpu.h"

struct cpuid_result {
    uint32_t eax, ebx, ecx, edx;
};

/* Which virtual CPU asks, of how many, and what guests are told (FEATURE_*). */
struct cpuid_guest {
    uint32_t number, cpus, features;
};

/* Leaf and subleaf as the guest asks; `host` is what the host's CPU answers to the same question (the caller runs
 * the instruction, so that this stays testable); `osxsave` etc. need no care because XSAVE is hidden. The guest's CPUs are the
 * cores of one processor, without caches in common. */
struct cpuid_result cpuid_filter(uint32_t leaf, uint32_t subleaf, struct cpuid_result host, struct cpuid_guest guest);

/* Gives the kernel the answers to what guests ask, so that those questions don't exit. Once per start of the guest. */
void cpuid_publish(struct cpu *cpu);

/* CPUID exit, for the questions that are not published: emulates the instruction. */
void cpuid_exit(struct cpu *cpu);

#endif
