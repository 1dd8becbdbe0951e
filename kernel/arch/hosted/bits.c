/* Bit search. */
#include "arch.h"

uint32_t arch_highest_bit(uint64_t word)
{
    return 63u - (uint32_t)__builtin_clzll(word);
}

uint64_t arch_index_mask(uint64_t index, uint64_t mask)
{
    return index & mask;
}
