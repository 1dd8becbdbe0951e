/* What a thread leaves in the vector unit: nothing. Executed on this machine's own unit, by the instructions of the kernel. */
#include "arch.h"

/* The hosted world has functions of these names. */
#define arch_fpu_reset tested_fpu_reset
#define arch_fpu_use tested_fpu_use
#define arch_fpu_leave tested_fpu_leave
#include "thread/fpu.c"

#include <string.h>

#include "test.h"

/* ---- what the rest of the file uses, which this test does not reach ---- */
struct percpu percpu[NUM_CPU];
struct arch_thread arch_threads[NUM_THREAD];
uint32_t mitigations_vector_state;

static struct fpu_area left;

#define EACH(DO)                                                                                                       \
    DO(0);                                                                                                             \
    DO(1);                                                                                                             \
    DO(2);                                                                                                             \
    DO(3);                                                                                                             \
    DO(4);                                                                                                             \
    DO(5);                                                                                                             \
    DO(6);                                                                                                             \
    DO(7);                                                                                                             \
    DO(8);                                                                                                             \
    DO(9);                                                                                                             \
    DO(10);                                                                                                            \
    DO(11);                                                                                                            \
    DO(12);                                                                                                            \
    DO(13);                                                                                                            \
    DO(14);                                                                                                            \
    DO(15)

/* Values in every register: x87 and MMX, both halves of the vectors, control words; and a pending exception of x87. */
static void fill(uint32_t avx)
{
    static const uint8_t ones[32] __attribute__((aligned(32))) = {[0 ... 31] = 0xa5};
    uint32_t mxcsr = 0x7f80;
    uint16_t control = 0x0340; /* exceptions are raised */

    if (avx != 0) {
#define FILL_AVX(n) __asm__ volatile("vmovdqa %0, %%ymm" #n : : "m"(ones))
        EACH(FILL_AVX);
    } else {
#define FILL(n) __asm__ volatile("movdqa %0, %%xmm" #n : : "m"(ones))
        EACH(FILL);
    }
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
    __asm__ volatile("fninit\n\tfldpi\n\tfldpi\n\tfldpi\n\tfldpi\n\tfldpi\n\tfldpi\n\tfldz\n\tfld1\n\t"
                     "fdiv %%st(1), %%st\n\tfldcw %0"
                     :
                     : "m"(control)); /* 1 / 0 is pending */
}

static uint32_t has_avx(void)
{
    return __builtin_cpu_supports("avx") != 0;
}

static void test_clear(uint32_t avx)
{
    uint8_t upper[16][32] __attribute__((aligned(32)));
    uint8_t zero[32] = {0};

    fpu_components = avx != 0 ? COMPONENTS_WANTED : 3;
    memset(&left, 0xff, sizeof left);
    fill(avx);
    clear_registers();
    /* Before any call: functions of the C library use these registers, which ones depends on the processor. */
    if (avx != 0) {
#define SAVE_AVX(n) __asm__ volatile("vmovdqa %%ymm" #n ", %0" : "=m"(upper[n]))
        EACH(SAVE_AVX);
    }
    __asm__ volatile("fxsave64 %0" : "=m"(left));
    CHECK_EQUAL(left.byte[0] | left.byte[1] << 8, FCW_INITIAL);
    CHECK_EQUAL(left.byte[2] | left.byte[3] << 8, 0); /* status: nothing is pending */
    CHECK_EQUAL((left.byte[24] | left.byte[25] << 8), MXCSR_INITIAL);
    for (uint32_t r = 0; r < 8; r++) { /* the ten bytes of a register; MMX sets the last two, which say nothing */
        CHECK_EQUAL(memcmp(&left.byte[32 + 16 * r], zero, 8), 0);
    }
    for (uint32_t r = 0; r < 16; r++) {
        CHECK_EQUAL(memcmp(&left.byte[160 + 16 * r], zero, 16), 0);
    }
    for (uint32_t r = 0; r < 16 && avx != 0; r++) {
        CHECK_EQUAL(memcmp(upper[r], zero, 32), 0);
    }
    __asm__ volatile("fninit"); /* MMX has left the registers in use */
}

int main(void)
{
    test_clear(0);
    if (has_avx()) {
        test_clear(1);
    }
    return TEST_END();
}
