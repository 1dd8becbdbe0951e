/* Finds the device of an address, and makes interrupt lines follow the devices. */
#include "virtio/bus.h"

#include "devices/io.h"
#include "virtio/block.h"
#include "virtio/disk.h"
#include "virtio/entropy.h"

void bus_reset(void)
{
    struct virtio *device = machine.bus.device;
    block_forget();
    virtio_init(&device[BUS_ENTROPY], entropy_present() ? ENTROPY_DEVICE : VIRTIO_NONE);
    virtio_init(&device[BUS_BLOCK], disk_is_connected() ? BLOCK_DEVICE : VIRTIO_NONE);
    block_attach(&device[BUS_BLOCK]);
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
    pic_set_line(&machine.pic, bus_line(place), machine.bus.device[place].interrupts != 0);
}

uint64_t bus_read(uint64_t address)
{
    return virtio_read(&machine.bus.device[place_of(address)], (uint32_t)(address % BUS_STEP));
}

void bus_write(uint64_t address, uint32_t value)
{
    virtio_write(&machine.bus.device[place_of(address)], (uint32_t)(address % BUS_STEP), value);
    follow(place_of(address));
}

void bus_resume(void)
{
    virtio_resume(&machine.bus.device[BUS_BLOCK]);
    follow(BUS_BLOCK);
}
