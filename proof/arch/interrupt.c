/* The local interrupt controller, the controller of lines, and interrupt windows. */
#include "arch.h"
#include "machine.h"
#include "parts.h"

/* Registers of the local controller; as MSRs, MSR_X2APIC + register / 16. */
#define MSR_X2APIC 0x800u
#define APIC_END 0xb0u
#define APIC_REQUEST 0x210u /* pending vectors 32 to 63 */
#define APIC_COMMAND 0x300u
#define APIC_COMMAND_HIGH 0x310u
#define COMMAND_PENDING 0x1000u
#define COMMAND_ASSERT 0x4000u

/* Of each CPU's record, by its number: what start-up sets. */
struct percpu_records {
    uint32_t apic_id;
};

static struct percpu_records percpu_records[NUM_CPU];
static uint32_t x2apic;
static uint64_t registers; /* where the local controller's window is mapped */

/* The controller of lines: a register is chosen by the window's first word, and is its fifth. */
#define IOAPIC_DATA 0x10ul
#define IOAPIC_END 0x40ul
#define IOAPIC_REDIRECTION 0x10u /* two words a pin */
#define ENTRY_MASKED 0x10000u
#define ENTRY_LEVEL 0x8000u
#define ENTRY_LEVEL_SHIFT 15u
#define ENTRY_ACTIVE_LOW_SHIFT 13u
#define NUM_ISA_LINE 16u

struct message {
    uint64_t address;
    uint32_t data;
};

static struct message message[NUM_IRQ_LINE];
static uint32_t pins;
static uint32_t entry_low[NUM_IRQ_LINE];
static uint32_t line_apic_id[NUM_IRQ_LINE]; /* of the line's CPU */

uint32_t apic_id_of(uint32_t cpu)
{
    return percpu_records[cpu].apic_id;
}

uint32_t apic_read(uint32_t reg)
{
    if (x2apic != 0u) {
        uint64_t wide = machine_read_msr(MSR_X2APIC + reg / 16u);
        return (uint32_t)wide;
    }
    uint32_t value = machine_read32(registers + (uint64_t)reg);
    return value;
}

void apic_write(uint32_t reg, uint32_t value)
{
    if (x2apic != 0u) {
        machine_write_msr(MSR_X2APIC + reg / 16u, (uint64_t)value);
    } else {
        machine_write32(registers + (uint64_t)reg, value);
    }
}

/* Sends an interrupt. The write of the MSR does not wait for stores before it: the fence does. */
void apic_command(uint32_t destination, uint32_t value)
{
    if (x2apic != 0u) {
        machine_fence();
        machine_write_msr(MSR_X2APIC + APIC_COMMAND / 16u, (uint64_t)destination << 32 | (uint64_t)value);
        return;
    }
    uint32_t status = apic_read(APIC_COMMAND);
    while ((status & COMMAND_PENDING) != 0u) {
        arch_spin_hint();
        status = apic_read(APIC_COMMAND);
    }
    apic_write(APIC_COMMAND_HIGH, destination << 24);
    apic_write(APIC_COMMAND, value);
}

uint32_t arch_interrupt_pending(void)
{
    uint32_t pending = apic_read(APIC_REQUEST);
    if (pending != 0u) {
        return 1u;
    }
    return 0u;
}

void arch_interrupt_end(void)
{
    apic_write(APIC_END, 0u);
}

void arch_interrupt_send(uint32_t cpu, uint32_t vector)
{
    apic_command(percpu_records[cpu].apic_id, COMMAND_ASSERT | vector);
}

uint32_t ioapic_read(uint32_t reg)
{
    uint64_t window = platform_io_apic();
    machine_write32(window, reg);
    uint32_t value = machine_read32(window + IOAPIC_DATA);
    return value;
}

void ioapic_write(uint32_t reg, uint32_t value)
{
    uint64_t window = platform_io_apic();
    machine_write32(window, reg);
    machine_write32(window + IOAPIC_DATA, value);
}

/* The pin of a line: the two that the kernel uses follow the firmware. */
static uint32_t line_pin(uint32_t line)
{
    uint32_t pin = line;
    if (line == KEYBOARD_LINE || line == SERIAL_LINE) {
        pin = platform_isa_line(line);
    }
    return pin;
}

static void line_write_entry(uint32_t line)
{
    uint32_t pin = line_pin(line);
    if (pin < pins) {
        ioapic_write(IOAPIC_REDIRECTION + 2u * pin, entry_low[line]);
    }
}

/* Masked; bit 0 of the flags: level triggered, bit 1: active low. The controller's two words, where it has the pin; lines of the first controller follow the firmware's overrides. */
void arch_line_route(uint32_t line, uint32_t cpu, uint32_t flags)
{
    uint32_t entry = ENTRY_MASKED | (VECTOR_BASE + line);
    uint32_t pin = line_pin(line);
    if (pin < NUM_ISA_LINE) {
        uint32_t more = platform_pin_flags(pin);
        flags = flags | more;
    }
    uint32_t is_level = flags & 1u;
    entry = entry | is_level << ENTRY_LEVEL_SHIFT | (flags >> 1 & 1u) << ENTRY_ACTIVE_LOW_SHIFT;
    uint32_t id = percpu_records[cpu].apic_id;
    entry_low[line] = entry;
    line_apic_id[line] = id;
    uint32_t target = iommu_route(VECTOR_BASE + line, id, is_level);
    if (pin < pins) {
        line_write_entry(line);
        ioapic_write(IOAPIC_REDIRECTION + 2u * pin + 1u, target);
    }
}

void arch_line_mask(uint32_t line)
{
    entry_low[line] = entry_low[line] | ENTRY_MASKED;
    line_write_entry(line);
}

/* Where interrupts are remapped, a line's last interrupt is ended here, before the line is unmasked. */
void arch_line_unmask(uint32_t line)
{
    if ((entry_low[line] & ENTRY_LEVEL) != 0u) {
        uint32_t replaces = iommu_replaces();
        if (replaces != 0u) {
            uint64_t window = platform_io_apic();
            machine_write32(window + IOAPIC_END, VECTOR_BASE + line);
        }
    }
    entry_low[line] = entry_low[line] & ~ENTRY_MASKED;
    line_write_entry(line);
}

/* Where interrupts are remapped, the message has no data of its own. */
void arch_message_route(uint32_t line, uint32_t function)
{
    uint32_t vector = VECTOR_BASE + line;
    uint64_t address = iommu_message_address(vector, line_apic_id[line], function);
    uint32_t replaces = iommu_replaces();
    message[line].address = address;
    if (replaces != 0u) {
        message[line].data = 0u;
    } else {
        message[line].data = vector;
    }
}

uint64_t arch_message_address(uint32_t line)
{
    return message[line].address;
}

uint32_t arch_message_data(uint32_t line)
{
    return message[line].data;
}
