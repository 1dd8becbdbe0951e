/* Bit search. */
#include "arch.h"

uint32_t arch_highest_bit(uint64_t word)
{
    return 63u - (uint32_t)__builtin_clzll(word);
}
