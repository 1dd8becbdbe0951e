/* The I/O interrupt controller. Line i is its pin i, except that the two ISA lines that the kernel itself uses follow
 * the firmware's overrides. Its registers are accessed by index and data, so LOCK_IRQ must be held (or start-up). */
#include "interrupt/ioapic.h"

#include "arch.h"
#include "cpu/cpu.h"
#include "iommu/iommu_units.h"
#include "cpu/percpu.h"
#include "boot/platform.h"

#define REG_VERSION 1u
#define REG_END 16u /* the end-of-interrupt register */
#define VERSION_WITH_END 0x20u
#define REG_REDIRECTION 0x10u /* two words a pin */
#define ENTRY_MASKED 0x10000u
#define ENTRY_LEVEL 0x8000u
#define ENTRY_ACTIVE_LOW 0x2000u
#define LINE_LEVEL 1u
#define LINE_ACTIVE_LOW 2u

#define PIC1_COMMAND 0x20
#define PIC1_DATA 0x21
#define PIC2_COMMAND 0xa0
#define PIC2_DATA 0xa1
#define PIC_VECTOR 0xe0 /* vectors of the masked 8259, whose late interrupts are ignored */

static uint32_t pins;
static uint32_t version;
static uint32_t entry_low[NUM_IRQ_LINE]; /* copy of the controller's entries; guarded as the controller is */

static struct message message[NUM_IRQ_LINE]; /* constant after start-up */
static uint32_t line_apic_id[NUM_IRQ_LINE];  /* of the line's CPU */

uint32_t ioapic_read(uint32_t reg)
{
    volatile uint32_t *window = direct(platform.io_apic);
    window[0] = reg;
    return window[4];
}

/* The jump does nothing. In QEMU 7.2 a processor that has waited in an access to a device, while another one mapped a device's
 * memory, sends the next access to the wrong device, unless it has come to a jump before (its tcg_commit() changes the map at once
 * and lets each processor forget the old one only there): the value was lost, and with it a line's interrupts. */
void ioapic_write(uint32_t reg, uint32_t value)
{
    volatile uint32_t *window = direct(platform.io_apic);
    window[0] = reg;
    __asm__ volatile("jmp 1f\n1:" : : : "memory");
    window[4] = value;
}

static uint32_t line_pin(uint32_t line)
{
    return line == KEYBOARD_LINE || line == SERIAL_LINE ? platform.isa_line[line] : line;
}

static void pic_mask(void)
{
    port_out8(PIC1_COMMAND, 0x11);
    port_out8(PIC2_COMMAND, 0x11);
    port_out8(PIC1_DATA, PIC_VECTOR);
    port_out8(PIC2_DATA, PIC_VECTOR + 8);
    port_out8(PIC1_DATA, 4);
    port_out8(PIC2_DATA, 2);
    port_out8(PIC1_DATA, 1);
    port_out8(PIC2_DATA, 1);
    port_out8(PIC1_DATA, 0xff);
    port_out8(PIC2_DATA, 0xff);
}

void ioapic_init(void)
{
    pic_mask();
    version = ioapic_read(REG_VERSION) & 0xff;
    pins = (ioapic_read(REG_VERSION) >> 16 & 0xff) + 1;
    for (uint32_t pin = 0; pin < pins; pin++) {
        ioapic_write(REG_REDIRECTION + 2 * pin, ENTRY_MASKED);
    }
    for (uint32_t line = 0; line < NUM_IRQ_LINE; line++) {
        entry_low[line] = ENTRY_MASKED | (VECTOR_BASE + line);
    }
}

static void write_entry(uint32_t line)
{
    if (line_pin(line) < pins) {
        ioapic_write(REG_REDIRECTION + 2 * line_pin(line), entry_low[line]);
    }
}

void arch_line_route(uint32_t line, uint32_t cpu, uint32_t flags)
{
    uint32_t entry = ENTRY_MASKED | (VECTOR_BASE + line);

    if (line_pin(line) < NUM_ISA_LINE) {
        flags |= platform.pin_flags[line_pin(line)];
    }
    if ((flags & LINE_LEVEL) != 0) {
        entry |= ENTRY_LEVEL;
    }
    if ((flags & LINE_ACTIVE_LOW) != 0) {
        entry |= ENTRY_ACTIVE_LOW;
    }
    entry_low[line] = entry;
    line_apic_id[line] = percpu[cpu].apic_id;
    uint32_t target = iommu_route(VECTOR_BASE + line, percpu[cpu].apic_id, (flags & LINE_LEVEL) != 0);
    if (line_pin(line) < pins) {
        write_entry(line);
        ioapic_write(REG_REDIRECTION + 2 * line_pin(line) + 1, target);
    }
}

void arch_message_route(uint32_t line, uint32_t function)
{
    message[line] = iommu_message(VECTOR_BASE + line, line_apic_id[line], function);
}

uint64_t arch_message_address(uint32_t line)
{
    return message[line].address;
}

uint32_t arch_message_data(uint32_t line)
{
    return message[line].data;
}

uint32_t ioapic_can_end(void)
{
    return version >= VERSION_WITH_END;
}

/* Ends a level-triggered interrupt at the controller, which sends no other before. With interrupt remapping the
 * processor's end of interrupt need not reach the controller. Requires: ioapic_can_end(). */
static void end_level(uint32_t line)
{
    volatile uint32_t *window = direct(platform.io_apic);

    window[REG_END] = VECTOR_BASE + line;
}

void arch_line_mask(uint32_t line)
{
    entry_low[line] |= ENTRY_MASKED;
    write_entry(line);
}

/* A masked line sends nothing anyway, so its last interrupt is ended here, and not on the way of that interrupt: an access to
 * the controller is long. Ended before it is unmasked, a line that is still asserted sends the next one then. */
void arch_line_unmask(uint32_t line)
{
    if ((entry_low[line] & ENTRY_LEVEL) != 0 && iommu_replaces()) {
        end_level(line);
    }
    entry_low[line] &= ~ENTRY_MASKED;
    write_entry(line);
}
