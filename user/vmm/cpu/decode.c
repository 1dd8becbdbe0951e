/* MOV and its extending forms, and OR, AND, XOR to memory, in all modes. Modes differ in what there is without a prefix (the sizes of
 * operands and addresses), in REX, which only 64-bit code has, and in how an address of 16 bits is written. */
#include "cpu/decode.h"

#define REX_W 8u
#define REPNE 0xf2u
#define REP 0xf3u
#define REX_R 4u

struct cursor {
    const uint8_t *code;
    uint32_t bytes, at, ended;
};

static uint32_t next(struct cursor *c)
{
    if (c->at >= c->bytes) {
        c->ended = 1;
        return 0;
    }
    return c->code[c->at++];
}

/* Little-endian constant of 1, 2, 4 or 8 bytes. */
static uint64_t constant(struct cursor *c, uint32_t size)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < size; i++) {
        value |= (uint64_t)next(c) << (8 * i);
    }
    return value;
}

/* Passes the ModRM byte and what follows it; returns the byte. `address`: bytes of an address. */
static uint32_t pass_modrm(struct cursor *c, uint32_t address)
{
    uint32_t modrm = next(c), mode = modrm >> 6, rm = modrm & 7;
    uint32_t displacement = mode == 1 ? 1 : mode == 2 ? 4 : 0;
    if (address == 2) {
        constant(c, mode == 1 ? 1 : mode == 2 || (mode == 0 && rm == 6) ? 2 : 0);
        return modrm;
    }
    if (mode != 3 && rm == 4) {
        uint32_t base = next(c) & 7;
        displacement = mode == 0 && base == 5 ? 4 : displacement;
    } else if (mode == 0 && rm == 5) {
        displacement = 4;
    }
    constant(c, displacement);
    return modrm;
}

/* A register named in ModRM; without a REX prefix, byte registers 4..7 are the high bytes of 0..3. */
static void set_register(struct decoded *d, uint32_t modrm, uint32_t rex, uint32_t byte)
{
    d->reg = (modrm >> 3 & 7) | (rex & REX_R ? 8u : 0u);
    if (byte && rex == 0 && d->reg >= 4) {
        d->reg -= 4;
        d->high_byte = 1;
    }
}

/* What the second field of ModRM says in opcodes 80, 81 and 83; DECODE_MOVE for what is not decoded. */
static uint32_t combination(uint32_t field)
{
    return field == 1 ? DECODE_OR : field == 4 ? DECODE_AND : field == 6 ? DECODE_XOR : DECODE_MOVE;
}

/* The segment that a prefix names, or `otherwise`. */
static uint32_t segment_of(uint32_t prefix, uint32_t otherwise)
{
    switch (prefix) {
    case 0x26:
        return SEGMENT_ES;
    case 0x2e:
        return SEGMENT_CS;
    case 0x36:
        return SEGMENT_SS;
    case 0x3e:
        return SEGMENT_DS;
    case 0x64:
        return SEGMENT_FS;
    case 0x65:
        return SEGMENT_GS;
    default:
        return otherwise;
    }
}

static uint32_t is_prefix(uint32_t op)
{
    return op == 0x66 || op == 0x67 || op == 0xf0 || op == REPNE || op == REP ||
           segment_of(op, NUM_SEGMENT) != NUM_SEGMENT;
}

uint32_t decode_segment(const uint8_t *code, uint32_t bytes, uint32_t otherwise)
{
    for (uint32_t i = 0; i < bytes && i < DECODE_MAX && is_prefix(code[i]); i++) {
        otherwise = segment_of(code[i], otherwise);
    }
    return otherwise;
}

/* Bytes of an address: the mode's own, or with the prefix the other size that there is. */
static uint32_t address_bytes(uint32_t mode, uint32_t has_prefix)
{
    if (mode == 64) {
        return has_prefix ? 4 : 8;
    }
    return (mode == 32) == (has_prefix != 0) ? 2 : 4;
}

uint32_t decode_move(const uint8_t *code, uint32_t bytes, uint32_t mode, struct decoded *result)
{
    struct cursor c = {code, bytes < DECODE_MAX ? bytes : DECODE_MAX, 0, 0};
    struct decoded d = {0};
    uint32_t has_operand = 0, has_address = 0, rex = 0, op = next(&c);
    while (is_prefix(op) && op != REPNE && op != REP) { /* which no move has */
        has_operand |= op == 0x66;
        has_address |= op == 0x67;
        op = next(&c);
    }
    if (mode == 64 && (op & 0xf0) == 0x40) {
        rex = op;
        op = next(&c);
    }
    uint32_t wide = rex & REX_W ? 8 : (mode == 16) == (has_operand != 0) ? 4 : 2;
    uint32_t address = address_bytes(mode, has_address);
    uint32_t modrm = 0;
    switch (op) {
    case 0x88: /* register to memory */
    case 0x89:
    case 0x8a: /* memory to register */
    case 0x8b:
        d.size = op & 1 ? wide : 1;
        d.extend = d.size;
        d.write = op < 0x8a;
        modrm = pass_modrm(&c, address);
        set_register(&d, modrm, rex, d.size == 1);
        break;
    case 0x08: /* register to memory, combined with what is there */
    case 0x09:
    case 0x20:
    case 0x21:
    case 0x30:
    case 0x31:
        d.size = op & 1 ? wide : 1;
        d.write = 1;
        d.combine = op < 0x10 ? DECODE_OR : op < 0x30 ? DECODE_AND : DECODE_XOR;
        modrm = pass_modrm(&c, address);
        set_register(&d, modrm, rex, d.size == 1);
        break;
    case 0x80: /* constant likewise */
    case 0x81:
    case 0x83:
        d.size = op == 0x80 ? 1 : wide;
        d.write = 1;
        d.is_constant = 1;
        modrm = pass_modrm(&c, address);
        d.combine = combination(modrm >> 3 & 7);
        d.constant = constant(&c, op != 0x81 ? 1 : d.size == 8 ? 4 : d.size);
        if (op != 0x81) {
            d.constant = (uint64_t)(int64_t)(int8_t)d.constant;
        } else if (d.size == 8) {
            d.constant = (uint64_t)(int64_t)(int32_t)(uint32_t)d.constant;
        }
        if (d.combine == DECODE_MOVE) {
            return 0;
        }
        break;
    case 0xa0: /* accumulator, absolute address */
    case 0xa1:
    case 0xa2:
    case 0xa3:
        d.size = op & 1 ? wide : 1;
        d.extend = d.size;
        d.write = op >= 0xa2;
        constant(&c, address);
        break;
    case 0xc6: /* constant to memory */
    case 0xc7:
        d.size = op & 1 ? wide : 1;
        d.write = 1;
        d.is_constant = 1;
        modrm = pass_modrm(&c, address);
        d.constant = constant(&c, d.size == 8 ? 4 : d.size);
        if (d.size == 8) {
            d.constant = (uint64_t)(int64_t)(int32_t)(uint32_t)d.constant;
        }
        if ((modrm & 0x38) != 0) {
            return 0;
        }
        break;
    case 0x0f:
        op = next(&c);
        if (op != 0xb6 && op != 0xb7 && op != 0xbe && op != 0xbf) { /* extending moves */
            return 0;
        }
        d.size = op & 1 ? 2 : 1;
        d.extend = wide;
        d.sign = op >= 0xbe;
        modrm = pass_modrm(&c, address);
        set_register(&d, modrm, rex, 0);
        break;
    default:
        return 0;
    }
    if (c.ended || modrm >= 0xc0) { /* register to register reaches no memory */
        return 0;
    }
    d.length = c.at;
    *result = d;
    return 1;
}
