/* Message registers are those of abi.h, copies take exactly n, a new program sees no values of the old one. */
#include "abi.h"
#include "arch.h"
#include "hosted.h"
#include "test.h"
#include "uctx.h"

/* rdx r10 r8 r9 r12 r13 r14 r15 rbx rbp */
static const uint32_t registers[MESSAGE_REGISTER_WORDS] = {UCTX_RDX, UCTX_R10, UCTX_R8,  UCTX_R9,  UCTX_R12,
                                                           UCTX_R13, UCTX_R14, UCTX_R15, UCTX_RBX, UCTX_RBP};

static void fill(uint32_t t)
{
    for (uint32_t reg = UCTX_RAX; reg <= UCTX_R15; reg++) {
        uctx_set(t, reg, (uint64_t)t << 32 | reg);
    }
}

int main(void)
{
    const uint32_t a = NUM_CPU, b = NUM_THREAD - 1;

    hosted_reset(1);
    for (uint32_t i = 0; i < MESSAGE_REGISTER_WORDS; i++) {
        uctx_set_word(a, i, 1000 + i);
        CHECK_EQUAL(uctx_get(a, registers[i]), 1000 + i);
        uctx_set(a, registers[i], 2000 + i);
        CHECK_EQUAL(uctx_word(a, i), 2000 + i);
    }
    for (uint32_t n = 0; n <= MESSAGE_REGISTER_WORDS; n++) {
        fill(a);
        fill(b);
        uctx_copy_words(b, a, n);
        for (uint32_t i = 0; i < MESSAGE_REGISTER_WORDS; i++) {
            CHECK_EQUAL(uctx_word(b, i) >> 32, i < n ? a : b);
            CHECK_EQUAL((uint32_t)uctx_word(b, i), registers[i]);
        }
        CHECK_EQUAL(uctx_get(b, UCTX_RAX) >> 32, b);
        CHECK_EQUAL(uctx_get(b, UCTX_RDI) >> 32, b);
    }
    fill(b);
    uctx_set(b, UCTX_RFLAGS, ~0ul);
    uctx_init(b, 0x401000, 0x7ff0, 42);
    for (uint32_t reg = UCTX_RAX; reg <= UCTX_R15; reg++) {
        CHECK_EQUAL(uctx_get(b, reg), reg == UCTX_RDI ? 42 : 0);
    }
    CHECK_EQUAL(uctx_get(b, UCTX_RIP), 0x401000);
    CHECK_EQUAL(uctx_get(b, UCTX_RSP), 0x7ff0);
    CHECK_EQUAL(uctx_get(b, UCTX_RFLAGS), 0x202);
    CHECK_EQUAL(uctx_check(), 0);
    return TEST_END();
}
