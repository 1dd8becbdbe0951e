/* Saved user registers. The order of the message registers is that of abi.h: rdx r10 r8 r9 r12 r13 r14 r15 rbx rbp. */
#include "uctx.h"

#include "abi.h"
#include "arch.h"

/* Register of message word i; constant. */
static uint32_t uctx_register(uint32_t i)
{
    if (i == 0u) {
        return UCTX_RDX;
    }
    if (i == 1u) {
        return UCTX_R10;
    }
    if (i == 2u) {
        return UCTX_R8;
    }
    if (i == 3u) {
        return UCTX_R9;
    }
    if (i == 8u) {
        return UCTX_RBX;
    }
    if (i == 9u) {
        return UCTX_RBP;
    }
    return UCTX_R12 + (i - 4u);
}

uint64_t uctx_get(uint32_t t, uint32_t reg)
{
    uint64_t value = arch_uctx_get(t, reg);
    return value;
}

void uctx_set(uint32_t t, uint32_t reg, uint64_t value)
{
    arch_uctx_set(t, reg, value);
}

uint64_t uctx_word(uint32_t t, uint32_t i)
{
    uint32_t reg = uctx_register(i);
    uint64_t value = arch_uctx_get(t, reg);
    return value;
}

void uctx_set_word(uint32_t t, uint32_t i, uint64_t value)
{
    uint32_t reg = uctx_register(i);
    arch_uctx_set(t, reg, value);
}

static void uctx_copy(uint32_t to, uint32_t from, uint32_t reg)
{
    uint64_t value = arch_uctx_get(from, reg);
    arch_uctx_set(to, reg, value);
}

/* Constant register numbers make each word a load and a store. */
void uctx_copy_first(uint32_t to, uint32_t from)
{
    uctx_copy(to, from, UCTX_RDX);
    uctx_copy(to, from, UCTX_R10);
    uctx_copy(to, from, UCTX_R8);
    uctx_copy(to, from, UCTX_R9);
}

/* The words from the fifth on. */
static void uctx_copy_rest(uint32_t to, uint32_t from, uint32_t n)
{
    if (n >= MESSAGE_REGISTER_WORDS) {
        uctx_copy(to, from, UCTX_R12);
        uctx_copy(to, from, UCTX_R13);
        uctx_copy(to, from, UCTX_R14);
        uctx_copy(to, from, UCTX_R15);
        uctx_copy(to, from, UCTX_RBX);
        uctx_copy(to, from, UCTX_RBP);
        return;
    }
    uctx_copy(to, from, UCTX_R12);
    if (n < 6u) {
        return;
    }
    uctx_copy(to, from, UCTX_R13);
    if (n < 7u) {
        return;
    }
    uctx_copy(to, from, UCTX_R14);
    if (n < 8u) {
        return;
    }
    uctx_copy(to, from, UCTX_R15);
    if (n < 9u) {
        return;
    }
    uctx_copy(to, from, UCTX_RBX);
}

/* Unrolled, with few tests for the lengths that are common: four words and all. */
void uctx_copy_words(uint32_t to, uint32_t from, uint32_t n)
{
    if (n >= 4u) {
        uctx_copy_first(to, from);
        if (n > 4u) {
            uctx_copy_rest(to, from, n);
        }
        return;
    }
    if (n == 0u) {
        return;
    }
    uctx_copy(to, from, UCTX_RDX);
    if (n < 2u) {
        return;
    }
    uctx_copy(to, from, UCTX_R10);
    if (n < 3u) {
        return;
    }
    uctx_copy(to, from, UCTX_R8);
}

void uctx_init(uint32_t t, uint64_t entry, uint64_t stack, uint64_t argument)
{
    for (uint32_t reg = UCTX_RAX; reg <= UCTX_R15; reg = reg + 1u) {
        arch_uctx_set(t, reg, 0ul);
    }
    arch_uctx_set(t, UCTX_RDI, argument);
    arch_uctx_set(t, UCTX_RIP, entry);
    arch_uctx_set(t, UCTX_RSP, stack);
    arch_uctx_set(t, UCTX_RFLAGS, 0ul);
    arch_fpu_reset(t);
}

/* Checks for an ip outside user space, which the processor would refuse. */
uint32_t uctx_check(void)
{
    for (uint32_t t = NUM_CPU; t < NUM_THREAD; t = t + 1u) {
        uint64_t ip = arch_uctx_get(t, UCTX_RIP);
        if (ip >> 47u != 0ul) {
            return 1u;
        }
    }
    return 0u;
}
