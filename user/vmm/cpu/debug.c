/* Moves from and to debug registers. */
#include "cpu/debug.h"

#include "cpu/vcpu.h"
#include "guest.h"

#define CODE_MAX 15u
#define REX_R 4u
#define REX_B 1u
#define CR4_DEBUG_EXTENSIONS 0x8ul
#define DR6_ALWAYS 0xffff0ff0ul
#define DR6_ACCESS 0x2000ul /* a move was caught by DR7_GUARD */
#define DR7_ALWAYS 0x400ul
#define DR7_GUARD 0x2000ul
#define LOW_WORD 0xfffffffful
#define CODE_BASE (VCPU_SEGMENT + 3)
#define CODE_LONG (1ul << (16 + 9)) /* attribute bit L */

static uint32_t is_prefix(uint32_t byte)
{
    return byte == 0x66 || byte == 0x67 || byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26 ||
           byte == 0x64 || byte == 0x65 || byte == 0xf2 || byte == 0xf3;
}

uint32_t debug_decode(const uint8_t *code, uint32_t bytes, uint32_t long_mode, struct debug_move *result)
{
    uint32_t at = 0, rex = 0;
    bytes = bytes < CODE_MAX ? bytes : CODE_MAX;
    while (at < bytes && is_prefix(code[at])) {
        at++;
    }
    if (long_mode && at < bytes && (code[at] & 0xf0) == 0x40) {
        rex = code[at];
        at++;
    }
    if (bytes - at < 3 || code[at] != 0x0f || (code[at + 1] & 0xfd) != 0x21 || (rex & REX_R) != 0) {
        return 0;
    }
    *result = (struct debug_move){
        .length = at + 3,
        .debug = code[at + 2] >> 3 & 7, /* the mode bits are ignored: both are registers */
        .reg = (code[at + 2] & 7) | (rex & REX_B ? 8u : 0u),
        .write = code[at + 1] == 0x23,
    };
    return 1;
}

static volatile uint64_t *debug_word(volatile uint64_t *vcpu, uint32_t number)
{
    return number < 4 ? &vcpu[VCPU_DR0 + number] : number == 6 ? &vcpu[VCPU_DR6] : &vcpu[VCPU_DR7];
}

static void write_debug(volatile uint64_t *vcpu, uint32_t number, uint64_t value)
{
    if (number == 6) {
        value = (value & ~DR6_ALWAYS & 0xffff) | DR6_ALWAYS;
    } else if (number == 7) {
        value |= DR7_ALWAYS;
    }
    *debug_word(vcpu, number) = value;
    vcpu[VCPU_CHANGED] |= VCPU_CHANGED_DEBUG;
}

void debug_register_exit(volatile uint64_t *vcpu)
{
    uint8_t code[CODE_MAX];
    struct debug_move move;
    uint32_t long_mode = (vcpu[VCPU_EFER] & EFER_LMA) != 0 && (vcpu[VCPU_SEGMENT + 2] & CODE_LONG) != 0;
    uint64_t at = long_mode ? vcpu[VCPU_RIP] : (vcpu[CODE_BASE] + vcpu[VCPU_RIP]) & LOW_WORD;
    uint32_t bytes = (uint32_t)guest_read_linear(vcpu, at, code, CODE_MAX);
    if (debug_decode(code, bytes, long_mode, &move) == 0) {
        vcpu_raise_ud(vcpu);
        return;
    }
    if (move.debug == 4 || move.debug == 5) { /* other names of 6 and 7, or none */
        if ((vcpu[VCPU_CR4] & CR4_DEBUG_EXTENSIONS) != 0) {
            vcpu_raise_ud(vcpu);
            return;
        }
        move.debug += 2;
    }
    if ((vcpu[VCPU_DR7] & DR7_GUARD) != 0) {
        write_debug(vcpu, 7, vcpu[VCPU_DR7] & ~DR7_GUARD);
        vcpu[VCPU_DR6] |= DR6_ACCESS;
        vcpu[VCPU_INJECT] = EXCEPTION_DB | INJECT_EXCEPTION | INJECT_VALID;
        return;
    }
    uint64_t mask = long_mode ? ~0ul : LOW_WORD;
    if (move.write) {
        uint64_t value = vcpu_reg(vcpu, move.reg) & mask;
        if (move.debug >= 6 && value > LOW_WORD) {
            vcpu_raise_gp(vcpu);
            return;
        }
        write_debug(vcpu, move.debug, value);
    } else {
        vcpu_set_reg(vcpu, move.reg, *debug_word(vcpu, move.debug) & mask);
    }
    vcpu_skip(vcpu, move.length);
}
