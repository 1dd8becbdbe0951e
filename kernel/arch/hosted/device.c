/* Serial port, keyboard, I/O ports as buffers that the test fills and reads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch.h"
#include "hosted.h"
#include "hosted_parts.h"

#define BUFFER 65536u
#define NUM_PORT 65536u

struct buffer {
    uint32_t first;
    uint32_t used;
    uint32_t byte[BUFFER];
};

static struct buffer serial_in, serial_out, keyboard;
static uint32_t serial_room;
static uint32_t serial_room_is_set;
static uint32_t transmit_enabled;
static uint32_t ports[NUM_PORT];

static void put(struct buffer *buffer, uint32_t byte)
{
    if (buffer->used == BUFFER) {
        hosted_fail("a device buffer is full", byte);
    }
    buffer->byte[(buffer->first + buffer->used) % BUFFER] = byte;
    buffer->used++;
}

static uint32_t take(struct buffer *buffer)
{
    if (buffer->used == 0) {
        return NONE;
    }
    uint32_t byte = buffer->byte[buffer->first];
    buffer->first = (buffer->first + 1) % BUFFER;
    buffer->used--;
    return byte;
}

void hosted_devices_reset(void)
{
    serial_in.used = 0;
    serial_out.used = 0;
    keyboard.used = 0;
    serial_room = 16;
    serial_room_is_set = 0;
    transmit_enabled = 0;
    memset(ports, 0, sizeof ports);
}

static uint32_t transmitter_room(void)
{
    return serial_room_is_set ? serial_room : 16;
}

uint32_t arch_serial_status(void)
{
    return transmitter_room() | (serial_in.used > 0 ? SERIAL_RECEIVED : 0);
}

void arch_serial_put(uint32_t byte)
{
    if (transmitter_room() == 0) {
        hosted_fail("the transmitter is full, byte", byte);
    }
    serial_room--;
    put(&serial_out, byte);
}

uint32_t arch_serial_get(void)
{
    if (serial_in.used == 0) {
        hosted_fail("no byte has been received, there are", 0);
    }
    return take(&serial_in);
}

void arch_serial_transmit_interrupt(uint32_t enable)
{
    transmit_enabled = enable;
    if (serial_in.used > 0 || (enable && transmitter_room() > 0)) {
        hosted_raise_line(SERIAL_LINE);
    }
}

uint32_t arch_keyboard_get(void)
{
    return take(&keyboard);
}

uint32_t arch_port_in(uint32_t port, uint32_t width)
{
    uint32_t value = ports[port % NUM_PORT];

    return width == 4 ? value : value & ((1u << (8 * width)) - 1);
}

void arch_port_out(uint32_t port, uint32_t width, uint32_t value)
{
    ports[port % NUM_PORT] = width == 4 ? value : value & ((1u << (8 * width)) - 1);
}

void arch_power_off(uint32_t code)
{
    fprintf(stderr, "hosted machine: power off, code %u\n", code);
    exit((int)code);
}

void hosted_serial_input(const char *bytes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        put(&serial_in, (uint8_t)bytes[i]);
    }
}

uint32_t hosted_serial_output(char *bytes, uint32_t room)
{
    uint32_t n = 0;

    while (n < room && serial_out.used > 0) {
        bytes[n++] = (char)take(&serial_out);
    }
    return n;
}

void hosted_serial_set_room(uint32_t room)
{
    serial_room = room;
    serial_room_is_set = 1;
}

uint32_t hosted_serial_transmit_enabled(void)
{
    return transmit_enabled;
}

void hosted_keyboard_input(uint32_t scan_code)
{
    put(&keyboard, scan_code);
}

void hosted_port_set(uint32_t port, uint32_t value)
{
    ports[port % NUM_PORT] = value;
}

uint32_t hosted_port_value(uint32_t port)
{
    return ports[port % NUM_PORT];
}
