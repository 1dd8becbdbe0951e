/* Port decoding. Devices are a byte wide; a wider access to one is taken apart. */
#include "devices/io.h"

#include "boot/acpi.h"
#include "clock.h"
#include "cpu/decode.h"
#include "cpu/vcpu.h"
#include "guest.h"
#include "pci/config.h"

#define UART_PORT 0x3f8u
#define SYSTEM_CONTROL_PORT 0x92u
#define KEYBOARD_COMMAND_PORT 0x64u
#define KEYBOARD_PULSE_RESET 0xfeu

#define INFO_IN (1ul << 24)
#define INFO_STRING (1ul << 25)
#define INFO_REP (1ul << 26)
/* Elements of a repeated string instruction that one exit does; the rest exits again. */
#define STRING_PIECE 512u

void io_reset(uint64_t epoch, uint32_t bar)
{
    pic_init(&machine.pic);
    ioapic_init(&machine.ioapic);
    pit_init(&machine.pit);
    rtc_init(&machine.rtc, epoch);
    uart_init(&machine.uart);
    bus_reset();
    pci_reset(bar);
    machine.pm1_status = 0;
    machine.pm1_enable = 0;
    machine.pm1_control = 1; /* ACPI mode */
    machine.request = END_NONE;
}

static void follow_uart_line(void)
{
    machine_set_line(UART_IRQ, machine.uart.line);
}

static uint32_t uart_register_read(uint32_t port)
{
    uint32_t before = machine.uart.line;
    uint32_t value = uart_read(&machine.uart, port - UART_PORT);
    if (machine.uart.line != before) {
        follow_uart_line();
    }
    return value;
}

static void uart_register_write(uint32_t port, uint32_t value)
{
    uint32_t before = machine.uart.line;
    uart_write(&machine.uart, port - UART_PORT, value);
    if (machine.uart.line != before) {
        follow_uart_line();
    }
}

static uint32_t read_byte(uint32_t port)
{
    switch (port) {
    case 0x20:
    case 0x21:
    case 0xa0:
    case 0xa1:
    case 0x4d0:
    case 0x4d1:
        return pic_read(&machine.pic, port);
    case 0x40:
    case 0x41:
    case 0x42:
    case 0x43:
    case 0x61:
        return pit_read(&machine.pit, port, clock_now()) & 0xff;
    case 0x70:
    case 0x71:
        return rtc_read(&machine.rtc, port, clock_now());
    case KEYBOARD_COMMAND_PORT:
        return 0; /* no controller, but one that is never busy: reboot goes through here */
    case SYSTEM_CONTROL_PORT:
        return 2; /* address line 20 is on */
    case ACPI_PM1_EVENT:
        return machine.pm1_status & 0xff;
    case ACPI_PM1_EVENT + 1:
        return machine.pm1_status >> 8;
    case ACPI_PM1_EVENT + 2:
        return machine.pm1_enable & 0xff;
    case ACPI_PM1_EVENT + 3:
        return machine.pm1_enable >> 8;
    case ACPI_PM1_CONTROL:
        return machine.pm1_control & 0xff;
    case ACPI_PM1_CONTROL + 1:
        return machine.pm1_control >> 8;
    case ACPI_RESET_PORT:
        return 0;
    default:
        return port >= UART_PORT && port < UART_PORT + 8 ? uart_register_read(port) : 0xff;
    }
}

static void write_pm1_control(uint32_t value)
{
    machine.pm1_control = (value & 0x1c06) | 1;
    if ((value & ACPI_SLEEP_ENABLE) != 0 && (value >> 10 & 7) == ACPI_SLEEP_TYPE_OFF) {
        machine.request = END_POWER_OFF;
    }
}

static void write_byte(uint32_t port, uint32_t value)
{
    switch (port) {
    case 0x20:
    case 0x21:
    case 0xa0:
    case 0xa1:
    case 0x4d0:
    case 0x4d1:
        pic_write(&machine.pic, port, value);
        break;
    case 0x40:
    case 0x41:
    case 0x42:
    case 0x43:
    case 0x61:
        pit_write(&machine.pit, port, value, clock_now());
        break;
    case 0x70:
    case 0x71:
        rtc_write(&machine.rtc, port, value, clock_now());
        break;
    case KEYBOARD_COMMAND_PORT:
        machine.request = value == KEYBOARD_PULSE_RESET ? END_RESET : machine.request;
        break;
    case SYSTEM_CONTROL_PORT:
        machine.request = value & 1 ? END_RESET : machine.request;
        break;
    case ACPI_PM1_EVENT:
        machine.pm1_status &= ~value;
        break;
    case ACPI_PM1_EVENT + 1:
        machine.pm1_status &= ~(value << 8);
        break;
    case ACPI_PM1_EVENT + 2:
        machine.pm1_enable = (machine.pm1_enable & 0xff00) | value;
        break;
    case ACPI_PM1_EVENT + 3:
        machine.pm1_enable = (machine.pm1_enable & 0xff) | value << 8;
        break;
    case ACPI_PM1_CONTROL:
        write_pm1_control((machine.pm1_control & 0xff00) | value);
        break;
    case ACPI_PM1_CONTROL + 1:
        write_pm1_control((machine.pm1_control & 0xff) | value << 8);
        break;
    case ACPI_RESET_PORT:
        machine.request = value & 4 ? END_RESET : machine.request;
        break;
    default:
        if (port >= UART_PORT && port < UART_PORT + 8) {
            uart_register_write(port, value);
        }
        break;
    }
}

/* Is the port one of the PCI configuration mechanism? A wide access must not reach the byte-wide reset register among them. */
static uint32_t is_pci(uint32_t port)
{
    return port >= 0xcf8 && port <= 0xcff;
}

uint32_t io_read(uint32_t port, uint32_t size)
{
    uint32_t value = 0;
    if (port == FW_CFG_DATA && size == 1) {
        return fw_cfg_read(&machine.fw_cfg);
    }
    if (is_pci(port) && (size > 1 || port >= PCI_PORT_DATA)) {
        return pci_port_read(port, size);
    }
    for (uint32_t i = 0; i < size; i++) {
        value |= (read_byte((port + i) & 0xffff) & 0xff) << (8 * i);
    }
    return value;
}

void io_write(uint32_t port, uint32_t size, uint32_t value)
{
    if (port == FW_CFG_SELECTOR && size == 2) { /* the one port that takes 16 bits at once */
        fw_cfg_select(&machine.fw_cfg, value);
        return;
    }
    if (is_pci(port) && (size > 1 || port >= PCI_PORT_DATA)) {
        pci_port_write(port, size, value);
        return;
    }
    for (uint32_t i = 0; i < size; i++) {
        write_byte((port + i) & 0xffff, value >> (8 * i) & 0xff);
    }
}

/* The segment of OUTS' memory: the processor does not report it. INS has no other than ES. */
static uint32_t string_segment(volatile const uint64_t *vcpu, uint64_t in)
{
    uint8_t code[DECODE_MAX];
    if (in) {
        return SEGMENT_ES;
    }
    uint64_t bytes = guest_read_linear(vcpu, vcpu_linear(vcpu, SEGMENT_CS, vcpu[VCPU_RIP]), code, sizeof code);
    return decode_segment(code, (uint32_t)bytes, SEGMENT_DS);
}

/* One element of INS or OUTS. Returns 0 if the guest gets an exception: it may not access the memory, or it is not there. The
 * processor checks neither before it exits. */
static uint32_t string_element(volatile uint64_t *vcpu, uint32_t port, uint32_t size, uint64_t in, uint32_t segment,
                               uint64_t address_mask)
{
    uint32_t reg = in ? RDI : RSI;
    uint64_t address = vcpu_reg(vcpu, reg), value = 0, fault, error_code;
    uint64_t linear = vcpu_linear(vcpu, segment, address & address_mask);
    if (guest_may_access(vcpu, linear, size, in != 0, &fault, &error_code) == 0) {
        vcpu_raise_pf(vcpu, fault, error_code);
        return 0;
    }
    if (in) {
        value = io_read(port, size);
        if (guest_write_linear(vcpu, linear, &value, size) != size) {
            vcpu_raise_gp(vcpu);
            return 0;
        }
    } else {
        if (guest_read_linear(vcpu, linear, &value, size) != size) {
            vcpu_raise_gp(vcpu);
            return 0;
        }
        io_write(port, size, (uint32_t)value);
    }
    uint64_t step = vcpu[VCPU_RFLAGS] & RFLAGS_DF ? 0ul - size : size;
    vcpu_set_reg(vcpu, reg, (address & ~address_mask) | ((address + step) & address_mask));
    return 1;
}

static void string_exit(volatile uint64_t *vcpu, uint64_t info, uint32_t port, uint32_t size)
{
    uint32_t address_bytes = (uint32_t)(info >> 32) & 0xff;
    uint64_t mask = address_bytes == 4 ? 0xfffffffful : address_bytes == 2 ? 0xfffful : ~0ul;
    uint64_t count = 1, rest = 0;
    uint32_t segment = string_segment(vcpu, info & INFO_IN);
    if (info & INFO_REP) {
        count = vcpu_reg(vcpu, RCX) & mask;
        rest = count > STRING_PIECE ? count - STRING_PIECE : 0;
        count -= rest;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (string_element(vcpu, port, size, info & INFO_IN, segment, mask) == 0) {
            return;
        }
        if (info & INFO_REP) {
            vcpu_set_reg(vcpu, RCX, vcpu_reg(vcpu, RCX) - 1);
        }
    }
    if (rest == 0) {
        vcpu_skip(vcpu, 1);
    }
}

void io_exit(struct cpu *cpu)
{
    volatile uint64_t *vcpu = cpu->page;
    uint64_t info = vcpu[VCPU_EXIT_INFO1];
    uint32_t port = (uint32_t)info & 0xffff, size = (uint32_t)(info >> 16) & 0xff;
    if (info & INFO_STRING) {
        string_exit(vcpu, info, port, size);
        return;
    }
    vcpu_skip(vcpu, 1);
    if ((info & INFO_IN) == 0) {
        io_write(port, size, (uint32_t)vcpu_reg(vcpu, RAX));
        return;
    }
    uint64_t value = io_read(port, size);
    if (size < 4) { /* narrow results leave the rest of rax; 32-bit ones clear it */
        uint64_t mask = (1ul << (8 * size)) - 1;
        value |= vcpu_reg(vcpu, RAX) & ~mask;
    }
    vcpu_set_reg(vcpu, RAX, value);
}
