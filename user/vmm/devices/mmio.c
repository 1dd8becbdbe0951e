/* Device memory: the move at hand is decoded, the access done, the result put where the instruction wants it. */
#include "devices/mmio.h"

#include "ashlar/string.h"
#include "clock.h"
#include "cpu/decode.h"
#include "cpu/vcpu.h"
#include "devices/io.h"
#include "guest.h"

/* The bytes of the instruction that exited: from the processor if it reports them, else from guest memory. */
static uint32_t fetch(uint8_t code[DECODE_MAX])
{
    uint64_t given = vcpu[VCPU_FETCHED];
    if (given != 0) {
        uint64_t words[2] = {vcpu[VCPU_FETCHED_BYTES], vcpu[VCPU_FETCHED_BYTES + 1]};
        uint32_t bytes = given < DECODE_MAX ? (uint32_t)given : DECODE_MAX;
        memcpy(code, words, bytes);
        return bytes;
    }
    return (uint32_t)guest_read_linear(vcpu[VCPU_RIP], code, DECODE_MAX);
}

static uint32_t is_lapic(uint64_t address)
{
    return address >= LAPIC_ADDRESS && address < LAPIC_ADDRESS + LAPIC_SIZE;
}

static uint64_t read_bus(uint64_t address)
{
    if (is_lapic(address)) {
        return lapic_read(&machine.lapic, (uint32_t)(address - LAPIC_ADDRESS), clock_now()) >> (address % 4 * 8);
    }
    if (bus_has(address)) {
        return bus_read(address);
    }
    return ~0ul;
}

static void write_bus(uint64_t address, uint64_t value)
{
    if (bus_has(address)) {
        bus_write(address, (uint32_t)value);
        return;
    }
    if (is_lapic(address) && address % 16 == 0) {
        lapic_write(&machine.lapic, (uint32_t)(address - LAPIC_ADDRESS), (uint32_t)value, clock_now());
    }
}

/* What the instruction writes. */
static uint64_t operand(const struct decoded *d)
{
    if (d->is_constant) {
        return d->constant;
    }
    return vcpu_reg(d->reg) >> (d->high_byte ? 8 : 0);
}

/* Puts what was read into the register, extended as the instruction says. */
static void set_operand(const struct decoded *d, uint64_t value)
{
    uint64_t old = vcpu_reg(d->reg);
    uint32_t unused = 64 - 8 * d->size;
    value = d->sign ? (uint64_t)((int64_t)(value << unused) >> unused) : value << unused >> unused;
    if (d->high_byte) {
        vcpu_set_reg(d->reg, (old & ~0xff00ul) | value << 8);
    } else if (d->extend == 8) {
        vcpu_set_reg(d->reg, value);
    } else if (d->extend == 4) {
        vcpu_set_reg(d->reg, (uint32_t)value);
    } else {
        uint64_t mask = (1ul << (8 * d->extend)) - 1;
        vcpu_set_reg(d->reg, (old & ~mask) | (value & mask));
    }
}

#define RFLAGS_ARITHMETIC 0x8d5ul /* OF SF ZF AF PF CF */
#define RFLAGS_PF 0x4ul
#define RFLAGS_ZF 0x40ul
#define RFLAGS_SF 0x80ul

/* Combines the operand with what the bus has there, and sets the flags. */
static uint64_t combine(const struct decoded *d, uint64_t old)
{
    uint64_t value = d->combine == DECODE_OR    ? old | operand(d)
                     : d->combine == DECODE_AND ? old & operand(d)
                                                : old ^ operand(d);
    value = value << (64 - 8 * d->size) >> (64 - 8 * d->size);
    vcpu[VCPU_RFLAGS] = (vcpu[VCPU_RFLAGS] & ~RFLAGS_ARITHMETIC) | (value == 0 ? RFLAGS_ZF : 0) |
                        (value >> (8 * d->size - 1) != 0 ? RFLAGS_SF : 0) |
                        (__builtin_parity((uint32_t)value & 0xff) == 0 ? RFLAGS_PF : 0);
    return value;
}

const char *mmio_exit(void)
{
    uint64_t address = vcpu[VCPU_EXIT_INFO1], info = vcpu[VCPU_EXIT_INFO2];
    if ((info & 2) != 0) {
        return "the guest fetched an instruction where it has no memory";
    }
    if ((info & 4) != 0) {
        return "the guest's page tables lie where it has no memory";
    }
    if (address < guest_size) {
        return "the guest was refused its own memory";
    }
    uint8_t code[DECODE_MAX];
    struct decoded d;
    if (decode_move(code, fetch(code), &d) == 0) {
        return "the guest reached for memory it does not have, by an instruction the monitor does not emulate";
    }
    if (d.combine != DECODE_MOVE) {
        write_bus(address, combine(&d, read_bus(address)));
    } else if (d.write) {
        write_bus(address, operand(&d));
    } else {
        set_operand(&d, read_bus(address));
    }
    vcpu[VCPU_EXIT_NEXT_RIP] = 0;
    vcpu_skip(d.length);
    return 0;
}
