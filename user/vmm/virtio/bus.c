/* Finds the device of an address, and makes interrupt lines follow the devices. */
#include "virtio/bus.h"

#include "devices/io.h"
#include "virtio/block.h"
#include "virtio/entropy.h"
#include "virtio/links.h"
#include "virtio/network.h"
#include "virtio/nic.h"

/* A network whose driver has not come yet is not there: the guest would read an address that is none. */
void bus_reset(void)
{
    struct virtio *device = machine.bus.device;
    virtio_init(&device[BUS_ENTROPY], entropy_present() ? &entropy_kind : 0);
    virtio_init(&device[BUS_BLOCK], links_have_disk() ? &block_kind : 0);
    virtio_init(&device[BUS_NIC], network_is_known() ? &nic_kind : 0);
    block_attach(&device[BUS_BLOCK]);
    nic_attach(&device[BUS_NIC]);
}

uint32_t bus_has(uint64_t address)
{
    return address >= BUS_ADDRESS && address < BUS_ADDRESS + BUS_DEVICES * BUS_STEP && address % BUS_STEP < VIRTIO_SIZE;
}

static uint32_t place_of(uint64_t address)
{
    return (uint32_t)((address - BUS_ADDRESS) / BUS_STEP);
}

static void follow(uint32_t place)
{
    machine_set_line(bus_line(place), machine.bus.device[place].interrupts != 0);
}

uint64_t bus_read(uint64_t address)
{
    return virtio_read(&machine.bus.device[place_of(address)], (uint32_t)(address % BUS_STEP));
}

void bus_write(uint64_t address, uint32_t value)
{
    virtio_write(&machine.bus.device[place_of(address)], (uint32_t)(address % BUS_STEP), value);
    follow(place_of(address));
    links_flush();
}

void bus_resume(void)
{
    for (uint32_t place = BUS_BLOCK; place < BUS_DEVICES; place++) {
        virtio_resume(&machine.bus.device[place]);
        follow(place);
    }
    links_flush();
}
