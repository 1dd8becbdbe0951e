/* The start after a reset, and linear addresses by mode. */
#include "../cpu/vcpu.c"

#include "../../libc/tests/check.h"

static uint64_t state[VCPU_WORDS];

static void test_start(void)
{
    state[VCPU_TSC_OFFSET] = 77;
    vcpu_start_reset(state);
    CHECK(vcpu_mode(state) == 16 && state[VCPU_RIP] == 0xfff0 &&
          (state[VCPU_SEGMENT + 2 * SEGMENT_CS] & 0xffff) == 0xf000);
    CHECK(vcpu_linear(state, SEGMENT_CS, state[VCPU_RIP]) == 0xfffffff0);
    CHECK(state[VCPU_CR0] == CR0_ET && state[VCPU_RFLAGS] == 2 && state[VCPU_TSC_OFFSET] == 77);
    vcpu_start_real(state, 0x9a);
    CHECK(vcpu_linear(state, SEGMENT_CS, state[VCPU_RIP]) == 0x9a000 &&
          (state[VCPU_SEGMENT + 2 * SEGMENT_CS] & 0xffff) == 0x9a00);
}

static void test_modes(void)
{
    state[VCPU_SEGMENT + 2 * SEGMENT_ES + 1] = 0xfffffff0;
    CHECK(vcpu_linear(state, SEGMENT_ES, 0x20) == 0x10); /* 32 bits, around */
    vcpu_start_32(state, 0x100000, 0);
    CHECK(vcpu_mode(state) == 32 && vcpu_linear(state, SEGMENT_DS, 0xfee000f0) == 0xfee000f0);
    vcpu_start_64(state, 0x100000, 0, 0, 0);
    CHECK(vcpu_mode(state) == 64);
    state[VCPU_SEGMENT + 2 * SEGMENT_DS + 1] = 0x1000; /* has no meaning in 64-bit code */
    state[VCPU_SEGMENT + 2 * SEGMENT_FS + 1] = 0xffff800000000000ul;
    CHECK(vcpu_linear(state, SEGMENT_DS, 0x123456789abcul) == 0x123456789abcul);
    CHECK(vcpu_linear(state, SEGMENT_FS, 8) == 0xffff800000000008ul);
    state[VCPU_EFER] = 0; /* the bit alone does not make 64-bit code */
    CHECK(vcpu_mode(state) == 16);
}

int main(void)
{
    test_start();
    test_modes();
    return 0;
}
