/* Bit search. */
#include "arch.h"

uint32_t arch_highest_bit(uint64_t word)
{
    return 63u - (uint32_t)__builtin_clzl(word);
}

/* In assembly: the compiler would leave out what a check before makes superfluous. The range of the
 * result is stated for it, so that callers need no check behind it. */
uint64_t arch_index_mask(uint64_t index, uint64_t mask)
{
    __asm__("and %1, %0" : "+r"(index) : "ri"(mask) : "cc");
    if (index > mask) {
        __builtin_unreachable();
    }
    return index;
}
