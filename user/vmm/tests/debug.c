/* Moves of debug registers: encodings as the assembler makes them, truncations, random bytes. */
#include "../cpu/debug.h"

#include <string.h>

#include "../cpu/debug.c"

#include "../../libc/tests/check.h"

static uint64_t state[VCPU_WORDS];
static volatile uint64_t *const vcpu = state;

static const uint8_t *guest_code;

uint64_t guest_read_linear(volatile const uint64_t *page, uint64_t linear, void *to, uint64_t bytes)
{
    (void)page;
    (void)linear;
    memset(to, 0x90, bytes);
    memcpy(to, guest_code, 3);
    return bytes;
}

struct sample {
    const char *code;
    uint32_t long_mode;
    struct debug_move want;
};

static const struct sample samples[] = {
    {"\x0f\x23\xc0", 1, {.length = 3, .debug = 0, .reg = 0, .write = 1}},         /* mov %rax,%dr0 */
    {"\x41\x0f\x23\xff", 1, {.length = 4, .debug = 7, .reg = 15, .write = 1}},    /* mov %r15,%dr7 */
    {"\x0f\x21\xf3", 1, {.length = 3, .debug = 6, .reg = 3, .write = 0}},         /* mov %dr6,%rbx */
    {"\x66\x2e\x0f\x21\x0a", 0, {.length = 5, .debug = 1, .reg = 2, .write = 0}}, /* prefixes, mode bits 0 */
};

/* Executes one instruction of three bytes in 64-bit mode. */
static void execute(const char *code)
{
    guest_code = (const uint8_t *)code;
    vcpu[VCPU_EFER] = EFER_LMA;
    vcpu[VCPU_SEGMENT + 2] = CODE_LONG;
    vcpu[VCPU_RIP] = 0x1000;
    vcpu[VCPU_EXIT_NEXT_RIP] = 0;
    vcpu[VCPU_INJECT] = 0;
    vcpu[VCPU_CHANGED] = 0;
    debug_register_exit(vcpu);
}

static void emulates(void)
{
    vcpu_set_reg(vcpu, RAX, 0xffff800012345678ul);
    execute("\x0f\x23\xc0"); /* mov %rax,%dr0 */
    CHECK(vcpu[VCPU_DR0] == 0xffff800012345678ul && vcpu[VCPU_CHANGED] == VCPU_CHANGED_DEBUG &&
          vcpu[VCPU_RIP] == 0x1003);
    execute("\x0f\x23\xf8"); /* mov %rax,%dr7: reserved bits are set */
    CHECK(vcpu[VCPU_INJECT] == (EXCEPTION_GP | INJECT_EXCEPTION | INJECT_ERROR_CODE | INJECT_VALID));
    CHECK(vcpu[VCPU_RIP] == 0x1000 && vcpu[VCPU_CHANGED] == 0);
    vcpu_set_reg(vcpu, RAX, 0x55);
    execute("\x0f\x23\xe8"); /* mov %rax,%dr5, which is dr7 */
    CHECK(vcpu[VCPU_DR7] == 0x455);
    vcpu[VCPU_CR4] = CR4_DEBUG_EXTENSIONS;
    execute("\x0f\x23\xe8");
    CHECK(vcpu[VCPU_INJECT] == (EXCEPTION_UD | INJECT_EXCEPTION | INJECT_VALID));
    vcpu_set_reg(vcpu, RAX, 0x2400);
    execute("\x0f\x23\xf8"); /* guard */
    execute("\x0f\x21\xc3"); /* mov %dr0,%rbx, guarded */
    CHECK(vcpu[VCPU_INJECT] == (EXCEPTION_DB | INJECT_EXCEPTION | INJECT_VALID) && vcpu[VCPU_RIP] == 0x1000);
    CHECK(vcpu[VCPU_DR7] == 0x400 && (vcpu[VCPU_DR6] & DR6_ACCESS) != 0);
    execute("\x0f\x21\xc3");
    CHECK(vcpu_reg(vcpu, RBX) == 0xffff800012345678ul && vcpu[VCPU_RIP] == 0x1003);
}

int main(void)
{
    struct debug_move m;
    emulates();
    for (unsigned i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        const struct debug_move *w = &samples[i].want;
        const uint8_t *code = (const uint8_t *)samples[i].code;
        CHECK(debug_decode(code, w->length, samples[i].long_mode, &m) == 1);
        CHECK(m.length == w->length && m.debug == w->debug && m.reg == w->reg && m.write == w->write);
        for (uint32_t cut = 0; cut < w->length; cut++) {
            uint8_t *exact = malloc(cut + 1);
            memcpy(exact, code, cut);
            CHECK(debug_decode(exact, cut, samples[i].long_mode, &m) == 0);
            free(exact);
        }
    }
    CHECK(debug_decode((const uint8_t *)"\x44\x0f\x23\xc0", 4, 1, &m) == 0); /* dr8 */
    CHECK(debug_decode((const uint8_t *)"\x41\x0f\x23\xc0", 4, 0, &m) == 0); /* inc %ecx, which does not exit */
    CHECK(debug_decode((const uint8_t *)"\x0f\x22\xc0", 3, 1, &m) == 0);     /* mov %rax,%cr0 */
    for (unsigned i = 0; i < 3000000; i++) {
        uint8_t code[CODE_MAX];
        for (unsigned k = 0; k < CODE_MAX; k++) {
            code[k] = k == 2 ? 0x0f : (uint8_t)(rand() >> 7);
        }
        if (debug_decode(code, CODE_MAX, i & 1, &m)) {
            CHECK(m.length >= 3 && m.length <= CODE_MAX && m.debug < 8 && m.reg < 16 && m.write < 2);
        }
    }
    return 0;
}
