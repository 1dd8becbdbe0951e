/* Accesses of a driver to its device's I/O ports: the kernel makes each of them, and only inside the range that the description
 * gives. */
#include "driver_ports.h"

#include "ashlar/driver.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"

#define KEY_BYTES 72u

/* Most drivers have no such object: their devices have no ports. */
extern const struct driver_ports driver_ports __attribute__((weak));

static uint32_t slot = NO_SLOT;

void ports_start(void)
{
    char key[KEY_BYTES];

    if (&driver_ports == 0) {
        return;
    }
    format(key, sizeof key, "device.%s", driver_ports.device);
    slot = env_slot(key);
    if (slot == NO_SLOT) {
        panic("the ports of device %s: the description does not give it to this process\n", driver_ports.device);
    }
}

static void require(uint32_t status, uint32_t offset, uint32_t width)
{
    if (&driver_ports == 0) {
        panic("an access to a port: the program has no object driver_ports\n");
    }
    if (status == ERR_BAD_SLOT) {
        panic("the ports of device %s: it has none\n", driver_ports.device);
    }
    if (status != STATUS_OK) {
        panic("%u bytes at port %u of device %s: it has fewer\n", width, offset, driver_ports.device);
    }
}

static uint64_t read(uint32_t offset, uint32_t width)
{
    uint64_t value = 0;

    require(sys_port_in(slot, offset, width, &value), offset, width);
    return value;
}

static void write(uint32_t offset, uint32_t width, uint64_t value)
{
    require(sys_port_out(slot, offset, width, value), offset, width);
}

uint8_t port_read8(uint32_t offset)
{
    return (uint8_t)read(offset, 1);
}

uint16_t port_read16(uint32_t offset)
{
    return (uint16_t)read(offset, 2);
}

uint32_t port_read32(uint32_t offset)
{
    return (uint32_t)read(offset, 4);
}

void port_write8(uint32_t offset, uint8_t value)
{
    write(offset, 1, value);
}

void port_write16(uint32_t offset, uint16_t value)
{
    write(offset, 2, value);
}

void port_write32(uint32_t offset, uint32_t value)
{
    write(offset, 4, value);
}
