/* Device memory: the move at hand is decoded, the access done, the result put where the instruction wants it. */
#include "devices/mmio.h"

#include "ashlar/string.h"
#include "clock.h"
#include "cpu/decode.h"
#include "cpu/ipi.h"
#include "cpu/vcpu.h"
#include "guest.h"
#include "machine.h"
#include "pci/config.h"
#include "pci/passed.h"

/* The bytes of the instruction that exited: from the processor if it reports them, else from guest memory. */
static uint32_t fetch(volatile const uint64_t *vcpu, uint8_t code[DECODE_MAX])
{
    uint64_t given = vcpu[VCPU_FETCHED];
    if (given != 0) {
        uint64_t words[2] = {vcpu[VCPU_FETCHED_BYTES], vcpu[VCPU_FETCHED_BYTES + 1]};
        uint32_t bytes = given < DECODE_MAX ? (uint32_t)given : DECODE_MAX;
        memcpy(code, words, bytes);
        return bytes;
    }
    return (uint32_t)guest_read_linear(vcpu, vcpu_linear(vcpu, SEGMENT_CS, vcpu[VCPU_RIP]), code, DECODE_MAX);
}

static uint32_t is_lapic(uint64_t address)
{
    return address >= LAPIC_ADDRESS && address < LAPIC_ADDRESS + LAPIC_SIZE;
}

static uint32_t is_ioapic(uint64_t address)
{
    return machine.cpus > 1 && address >= IOAPIC_ADDRESS && address < IOAPIC_ADDRESS + IOAPIC_SIZE;
}

/* Devices, under the lock. */
static uint64_t read_shared(struct cpu *cpu, uint64_t address, uint32_t bytes)
{
    uint64_t value = ~0ul, offset = 0;
    machine_lock(cpu);
    if (pci_has(address, bytes, &offset)) {
        value = passed_read(offset, bytes);
    } else if (bus_has(address)) {
        value = bus_read(address);
    } else if (is_ioapic(address)) {
        value = ioapic_read(&machine.ioapic, (uint32_t)(address - IOAPIC_ADDRESS));
    }
    machine_unlock(cpu);
    return value;
}

static void write_shared(struct cpu *cpu, uint64_t address, uint32_t bytes, uint64_t value)
{
    uint64_t offset = 0;
    machine_lock(cpu);
    if (pci_has(address, bytes, &offset)) {
        passed_write(offset, bytes, value);
    } else if (bus_has(address)) {
        bus_write(address, (uint32_t)value);
    } else if (is_ioapic(address)) {
        ioapic_write(&machine.ioapic, (uint32_t)(address - IOAPIC_ADDRESS), (uint32_t)value);
    }
    machine_unlock(cpu);
}

static uint64_t read_bus(struct cpu *cpu, uint64_t address, uint32_t bytes)
{
    if (is_lapic(address) && lapic_in_memory(&cpu->lapic)) {
        return lapic_read(&cpu->lapic, (uint32_t)(address - LAPIC_ADDRESS), clock_now()) >> (address % 4 * 8);
    }
    return read_shared(cpu, address, bytes);
}

static void write_bus(struct cpu *cpu, uint64_t address, uint32_t bytes, uint64_t value)
{
    if (is_lapic(address) == 0 || lapic_in_memory(&cpu->lapic) == 0) {
        write_shared(cpu, address, bytes, value);
    } else if (address % 16 == 0) {
        lapic_write(&cpu->lapic, (uint32_t)(address - LAPIC_ADDRESS), (uint32_t)value, clock_now());
        ipi_follow(cpu);
    }
}

/* What the instruction writes. */
static uint64_t operand(volatile const uint64_t *vcpu, const struct decoded *d)
{
    if (d->is_constant) {
        return d->constant;
    }
    return vcpu_reg(vcpu, d->reg) >> (d->high_byte ? 8 : 0);
}

/* Puts what was read into the register, extended as the instruction says. */
static void set_operand(volatile uint64_t *vcpu, const struct decoded *d, uint64_t value)
{
    uint64_t old = vcpu_reg(vcpu, d->reg);
    uint32_t unused = 64 - 8 * d->size;
    value = d->sign ? (uint64_t)((int64_t)(value << unused) >> unused) : value << unused >> unused;
    if (d->high_byte) {
        vcpu_set_reg(vcpu, d->reg, (old & ~0xff00ul) | value << 8);
    } else if (d->extend == 8) {
        vcpu_set_reg(vcpu, d->reg, value);
    } else if (d->extend == 4) {
        vcpu_set_reg(vcpu, d->reg, (uint32_t)value);
    } else {
        uint64_t mask = (1ul << (8 * d->extend)) - 1;
        vcpu_set_reg(vcpu, d->reg, (old & ~mask) | (value & mask));
    }
}

#define RFLAGS_ARITHMETIC 0x8d5ul /* OF SF ZF AF PF CF */
#define RFLAGS_PF 0x4ul
#define RFLAGS_ZF 0x40ul
#define RFLAGS_SF 0x80ul

/* Combines the operand with what the bus has there, and sets the flags. */
static uint64_t combine(volatile uint64_t *vcpu, const struct decoded *d, uint64_t old)
{
    uint64_t value = d->combine == DECODE_OR    ? old | operand(vcpu, d)
                     : d->combine == DECODE_AND ? old & operand(vcpu, d)
                                                : old ^ operand(vcpu, d);
    value = value << (64 - 8 * d->size) >> (64 - 8 * d->size);
    vcpu[VCPU_RFLAGS] = (vcpu[VCPU_RFLAGS] & ~RFLAGS_ARITHMETIC) | (value == 0 ? RFLAGS_ZF : 0) |
                        (value >> (8 * d->size - 1) != 0 ? RFLAGS_SF : 0) |
                        (__builtin_parity((uint32_t)value & 0xff) == 0 ? RFLAGS_PF : 0);
    return value;
}

const char *mmio_exit(struct cpu *cpu)
{
    volatile uint64_t *vcpu = cpu->page;
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
    if (decode_move(code, fetch(vcpu, code), vcpu_mode(vcpu), &d) == 0) {
        return "the guest reached for memory it does not have, by an instruction the monitor does not emulate";
    }
    if (d.combine != DECODE_MOVE) {
        write_bus(cpu, address, d.size, combine(vcpu, &d, read_bus(cpu, address, d.size)));
    } else if (d.write) {
        write_bus(cpu, address, d.size, operand(vcpu, &d));
    } else {
        set_operand(vcpu, &d, read_bus(cpu, address, d.size));
    }
    vcpu[VCPU_EXIT_NEXT_RIP] = 0;
    vcpu_skip(vcpu, d.length);
    return 0;
}
