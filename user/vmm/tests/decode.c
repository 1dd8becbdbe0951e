/* The move decoder: encodings as the assembler makes them, truncations, random bytes. */
#include "../cpu/decode.c"

#include <string.h>

#include "../../libc/tests/check.h"

struct sample {
    const char *code;
    struct decoded want;
};

static const struct sample samples[] = {
    /* mov (%rax),%ecx */
    {"\x8b\x08", {.length = 2, .size = 4, .reg = 1, .extend = 4}},
    /* mov %r9,0x10(%rax,%rbx,4) */
    {"\x4c\x89\x4c\x98\x10", {.length = 5, .size = 8, .write = 1, .reg = 9, .extend = 8}},
    /* mov %ax,0x12345678(%rip) */
    {"\x66\x89\x05\x78\x56\x34\x12", {.length = 7, .size = 2, .write = 1, .reg = 0, .extend = 2}},
    /* mov %ah,(%rsi) and, with REX, mov %spl,(%rsi) */
    {"\x88\x26", {.length = 2, .size = 1, .write = 1, .reg = 0, .high_byte = 1, .extend = 1}},
    {"\x40\x88\x26", {.length = 3, .size = 1, .write = 1, .reg = 4, .extend = 1}},
    /* movl $1,0xffffffffff5fc0b0 */
    {"\xc7\x04\x25\xb0\xc0\x5f\xff\x01\x00\x00\x00",
     {.length = 11, .size = 4, .write = 1, .is_constant = 1, .constant = 1}},
    /* movq $-2,(%rdi); movb $7,1(%rdi) */
    {"\x48\xc7\x07\xfe\xff\xff\xff",
     {.length = 7, .size = 8, .write = 1, .is_constant = 1, .constant = 0xfffffffffffffffeul}},
    {"\xc6\x47\x01\x07", {.length = 4, .size = 1, .write = 1, .is_constant = 1, .constant = 7}},
    /* movzbl (%rdx),%r10d; movswq 4(%rdx),%rax */
    {"\x44\x0f\xb6\x12", {.length = 4, .size = 1, .reg = 10, .extend = 4}},
    {"\x48\x0f\xbf\x42\x04", {.length = 5, .size = 2, .reg = 0, .extend = 8, .sign = 1}},
    /* or %ecx,(%rax); lock and %r9b,(%rsi); xor %rdx,8(%rdi) */
    {"\x09\x08", {.length = 2, .size = 4, .write = 1, .reg = 1, .combine = DECODE_OR}},
    {"\xf0\x44\x20\x0e", {.length = 4, .size = 1, .write = 1, .reg = 9, .combine = DECODE_AND}},
    {"\x48\x31\x57\x08", {.length = 4, .size = 8, .write = 1, .reg = 2, .combine = DECODE_XOR}},
    /* orl $0x100,0xf0(%rax); andl $-2,(%rax); xorb $0x80,(%rax) */
    {"\x81\x88\xf0\x00\x00\x00\x00\x01\x00\x00",
     {.length = 10, .size = 4, .write = 1, .is_constant = 1, .constant = 0x100, .reg = 1, .combine = DECODE_OR}},
    {"\x83\x20\xfe", {.length = 3, .size = 4, .write = 1, .is_constant = 1, .constant = ~1ul, .combine = DECODE_AND}},
    {"\x80\x30\x80",
     {.length = 3, .size = 1, .write = 1, .is_constant = 1, .constant = ~0x7ful, .combine = DECODE_XOR}},
    /* movabs 0x8877665544332211,%eax; %gs:mov %ecx,(%rax) */
    {"\xa1\x11\x22\x33\x44\x55\x66\x77\x88", {.length = 9, .size = 4, .reg = 0, .extend = 4}},
    {"\x65\x89\x08", {.length = 3, .size = 4, .write = 1, .reg = 1, .extend = 4}},
};

/* The same moves in code of 32 and of 16 bits. */
static const struct {
    uint32_t mode;
    struct sample sample;
} others[] = {
    /* mov 0xfee000f0,%eax; movw %ax,4(%ebx); movb $1,(%ebp,%esi,2) */
    {32, {"\xa1\xf0\x00\xe0\xfe", {.length = 5, .size = 4, .reg = 0, .extend = 4}}},
    {32, {"\x66\x89\x43\x04", {.length = 4, .size = 2, .write = 1, .reg = 0, .extend = 2}}},
    {32, {"\xc6\x44\x75\x00\x01", {.length = 5, .size = 1, .write = 1, .is_constant = 1, .constant = 1}}},
    /* mov 0x1234(%si),%cx with an address of 16 bits */
    {32, {"\x67\x66\x8b\x8c\x34\x12", {.length = 6, .size = 2, .reg = 1, .extend = 2}}},
    /* mov 0x1234,%dx; mov %ch,2(%bx,%si); movl $5,(%di); mov %eax,0x10(%ecx,%eax,1) */
    {16, {"\x8b\x16\x34\x12", {.length = 4, .size = 2, .reg = 2, .extend = 2}}},
    {16, {"\x88\x68\x02", {.length = 3, .size = 1, .write = 1, .reg = 1, .high_byte = 1, .extend = 1}}},
    {16, {"\x66\xc7\x05\x05\x00\x00\x00", {.length = 7, .size = 4, .write = 1, .is_constant = 1, .constant = 5}}},
    {16, {"\x67\x66\x89\x44\x01\x10", {.length = 6, .size = 4, .write = 1, .reg = 0, .extend = 4}}},
    /* mov %es:0x1234,%al; movzbw (%bp),%ax */
    {16, {"\x26\xa0\x34\x12", {.length = 4, .size = 1, .reg = 0, .extend = 1}}},
    {16, {"\x0f\xb6\x46\x00", {.length = 4, .size = 1, .reg = 0, .extend = 2}}},
};

static void test_others(void)
{
    struct decoded d;
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
        const struct decoded *w = &others[i].sample.want;
        const uint8_t *code = (const uint8_t *)others[i].sample.code;
        CHECK(decode_move(code, w->length, others[i].mode, &d) == 1);
        CHECK(d.length == w->length && d.size == w->size && d.write == w->write && d.is_constant == w->is_constant);
        CHECK(d.constant == w->constant && d.reg == w->reg && d.high_byte == w->high_byte);
        CHECK(w->is_constant || d.extend == w->extend);
        CHECK(decode_move(code, w->length - 1, others[i].mode, &d) == 0);
    }
    /* What is a prefix in 64-bit code is an instruction of its own elsewhere. */
    CHECK(decode_move((const uint8_t *)"\x48\x8b\x08", 3, 32, &d) == 0);
    CHECK(decode_move((const uint8_t *)"\x48\x8b\x08", 3, 16, &d) == 0);
}

static void test_segments(void)
{
    CHECK(decode_segment((const uint8_t *)"\xf3\x6e", 2, SEGMENT_DS) == SEGMENT_DS);
    CHECK(decode_segment((const uint8_t *)"\xf3\x66\x26\x6f", 4, SEGMENT_DS) == SEGMENT_ES);
    CHECK(decode_segment((const uint8_t *)"\x64\xf3\x6e", 3, SEGMENT_DS) == SEGMENT_FS);
    CHECK(decode_segment((const uint8_t *)"\x2e\x65\x6e", 3, SEGMENT_DS) == SEGMENT_GS);
    CHECK(decode_segment((const uint8_t *)"\x6e\x36", 2, SEGMENT_DS) == SEGMENT_DS); /* behind the instruction */
    CHECK(decode_segment((const uint8_t *)"\x36", 0, SEGMENT_DS) == SEGMENT_DS);
}

int main(void)
{
    struct decoded d;
    test_others();
    test_segments();
    for (unsigned i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        const struct decoded *w = &samples[i].want;
        const uint8_t *code = (const uint8_t *)samples[i].code;
        CHECK(decode_move(code, w->length, 64, &d) == 1);
        CHECK(d.length == w->length && d.size == w->size && d.write == w->write && d.is_constant == w->is_constant);
        CHECK(d.constant == w->constant && (w->is_constant || d.reg == w->reg) && d.high_byte == w->high_byte &&
              d.sign == w->sign);
        CHECK(w->is_constant || w->combine || d.extend == w->extend);
        CHECK(d.combine == w->combine);
        for (uint32_t cut = 0; cut < w->length; cut++) {
            uint8_t *exact = malloc(cut + 1); /* the sanitizer sees a read past the end */
            memcpy(exact, code, cut);
            CHECK(decode_move(exact, cut, 64, &d) == 0);
            free(exact);
        }
    }
    CHECK(decode_move((const uint8_t *)"\x8b\xc8", 2, 64, &d) == 0);         /* register to register */
    CHECK(decode_move((const uint8_t *)"\x01\x08", 2, 64, &d) == 0);         /* add */
    CHECK(decode_move((const uint8_t *)"\x83\x38\x01", 3, 64, &d) == 0);     /* cmp */
    CHECK(decode_move((const uint8_t *)"\xc7\x08\1\0\0\0", 6, 64, &d) == 0); /* not a move */
    for (unsigned i = 0; i < 3000000; i++) {
        uint8_t code[DECODE_MAX];
        for (unsigned k = 0; k < DECODE_MAX; k++) {
            code[k] = (uint8_t)(rand() >> 7);
        }
        static const uint32_t modes[] = {16, 32, 64};
        if (decode_move(code, DECODE_MAX, modes[i % 3], &d)) {
            CHECK(d.length <= DECODE_MAX && d.reg < 16 && (d.size == 1 || d.size == 2 || d.size == 4 || d.size == 8));
            CHECK(d.high_byte == 0 || d.reg < 4);
        }
    }
    return 0;
}
