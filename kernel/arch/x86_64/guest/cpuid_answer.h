/* CPUID answered in the kernel from the monitor's list in the vcpu page, because programs execute it dozens of times
 * when they start. The list is the monitor's policy; leaves that are not in it exit to the monitor. */
#ifndef ASHLAR_CPUID_ANSWER_H
#define ASHLAR_CPUID_ANSWER_H

#include <stdint.h>

#include "abi.h"
#include "arch.h"

struct cpuid_answer {
    uint64_t ab; /* eax | ebx << 32 */
    uint64_t cd; /* ecx | edx << 32 */
};

/* Looks for a guest's question in the list of its vcpu page, a frame. Returns 1 with the answer, or 0. */
static inline uint32_t cpuid_answer(uint32_t page, uint32_t leaf, uint32_t subleaf, struct cpuid_answer *answer)
{
    uint64_t exact = (uint64_t)subleaf << 32 | leaf;
    uint64_t any = (uint64_t)VCPU_CPUID_ANY << 32 | leaf;
    uint64_t count = arch_frame_read(page, VCPU_CPUID_COUNT);
    /* Another thread of the monitor may change the list meanwhile: a word is read once, and may have any value. */
    for (uint32_t i = 0; i < NUM_CPUID_ANSWER && i < count; i++) {
        uint64_t question = arch_frame_read(page, VCPU_CPUID + 3 * i);
        if (question != exact && question != any) {
            continue;
        }
        answer->ab = arch_frame_read(page, VCPU_CPUID + 3 * i + 1);
        answer->cd = arch_frame_read(page, VCPU_CPUID + 3 * i + 2);
        return 1;
    }
    return 0;
}

#endif
