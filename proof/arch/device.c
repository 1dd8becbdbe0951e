/* Ports, the serial port COM1 and the keyboard's port. */
#include "arch.h"
#include "machine.h"
#include "parts.h"

#define COM1_DATA 0x3f8u
#define COM1_INTERRUPT_ENABLE 0x3f9u
#define COM1_LINE_STATUS 0x3fdu
#define LINE_DATA_READY 0x01u
#define LINE_TRANSMITTER_EMPTY 0x20u
#define NO_PORT 0xffu /* what a port that there is not reads as */
#define ENABLE_RECEIVED 1u
#define ENABLE_TRANSMITTER_EMPTY 2u

#define TEST_PORT 0xf4u /* of an emulator, which ends with what is written there */
#define SLEEP_ENABLE 0x2000u
#define SLEEP_TYPE_SHIFT 10u

#define KEYBOARD_DATA 0x60u
#define KEYBOARD_STATUS 0x64u
#define KEYBOARD_FULL 0x01u
#define KEYBOARD_MOUSE 0x20u

static uint32_t fifo_size;
static uint32_t room; /* bytes that the transmitter takes, at least */
static uint32_t present;

uint32_t arch_port_in(uint32_t port, uint32_t width)
{
    uint32_t value = 0u;
    if (width == 1u) {
        value = machine_in8(port);
        return value;
    }
    if (width == 2u) {
        value = machine_in16(port);
        return value;
    }
    value = machine_in32(port);
    return value;
}

void arch_port_out(uint32_t port, uint32_t width, uint32_t value)
{
    if (width == 1u) {
        machine_out8(port, value);
    } else if (width == 2u) {
        machine_out16(port, value);
    } else {
        machine_out32(port, value);
    }
}

uint32_t arch_serial_status(void)
{
    uint32_t status = machine_in8(COM1_LINE_STATUS);
    if ((status & LINE_TRANSMITTER_EMPTY) != 0u) {
        room = fifo_size;
    }
    if (status == NO_PORT || (status & LINE_DATA_READY) == 0u) {
        return room;
    }
    return room | SERIAL_RECEIVED;
}

void arch_serial_put(uint32_t byte)
{
    machine_out8(COM1_DATA, byte);
    room = room - 1u;
}

uint32_t arch_serial_get(void)
{
    uint32_t byte = machine_in8(COM1_DATA);
    return byte;
}

/* Disabled first: a cause that arose meanwhile makes a new edge. */
void arch_serial_transmit_interrupt(uint32_t enable)
{
    machine_out8(COM1_INTERRUPT_ENABLE, 0u);
    if (enable != 0u) {
        machine_out8(COM1_INTERRUPT_ENABLE, ENABLE_RECEIVED | ENABLE_TRANSMITTER_EMPTY);
    } else {
        machine_out8(COM1_INTERRUPT_ENABLE, ENABLE_RECEIVED);
    }
}

uint32_t arch_keyboard_get(void)
{
    if (present == 0u) {
        return NONE;
    }
    uint32_t status = machine_in8(KEYBOARD_STATUS);
    if ((status & KEYBOARD_FULL) == 0u) {
        return NONE;
    }
    uint32_t code = machine_in8(KEYBOARD_DATA);
    if ((status & KEYBOARD_MOUSE) != 0u) {
        return NONE;
    }
    return code;
}

static void power_stop(void)
{
    uint32_t on = 1u;
    while (on != 0u) {
        machine_interrupts_off();
        machine_halt();
    }
}

void arch_power_off(uint32_t code)
{
    uint32_t test = machine_in8(TEST_PORT);
    if (test == 0u) {
        machine_out8(TEST_PORT, code);
    }
    uint32_t control = platform_pm1a_control();
    if (control != 0u) {
        uint32_t type = platform_sleep_type_a();
        machine_out16(control, type << SLEEP_TYPE_SHIFT | SLEEP_ENABLE);
        control = platform_pm1b_control();
        if (control != 0u) {
            type = platform_sleep_type_b();
            machine_out16(control, type << SLEEP_TYPE_SHIFT | SLEEP_ENABLE);
        }
    }
    power_stop();
}
