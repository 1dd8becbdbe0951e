/* Drivers of the monitor's disk and network card for a small kernel that runs as a guest: queues without options, each request in
 * buffers of its own, and the 8259 pair by which both interrupt. Once, from the first processor. */
#ifndef ASHLAR_VIRTIO_GUEST_H
#define ASHLAR_VIRTIO_GUEST_H

#include "ashlar/string.h"
#include "guest_kernel.h"

#define VIRTIO_DISK 0xfeb01000ul
#define VIRTIO_CARD 0xfeb02000ul
#define VIRTIO_STATUS 0x70u
#define VIRTIO_VECTOR 0x30u /* of the 8259 pair's line 0 */
#define VIRTIO_DISK_LINE 10u
#define VIRTIO_CARD_LINE 11u
#define VIRTIO_ENTRIES 64u
#define VIRTIO_DEVICE_WRITES 2u

struct virtio_descriptor {
    uint64_t address;
    uint32_t bytes;
    uint16_t flags;
    uint16_t next;
};

struct virtio_queue {
    struct virtio_descriptor descriptor[VIRTIO_ENTRIES] __attribute__((aligned(16)));
    struct {
        uint16_t flags, index, ring[VIRTIO_ENTRIES], event;
    } driver;
    struct {
        uint16_t flags, index;
        struct {
            uint32_t head, bytes;
        } ring[VIRTIO_ENTRIES];
        uint16_t event;
    } device __attribute__((aligned(4)));
    uint64_t registers;
    uint32_t number;
    uint16_t told; /* the device, of the driver's index */
    uint16_t seen; /* of the device's index */
};

static inline uint32_t virtio_get(uint64_t registers, uint32_t offset)
{
    return *(volatile uint32_t *)(registers + offset);
}

static inline void virtio_set(uint64_t registers, uint32_t offset, uint32_t value)
{
    *(volatile uint32_t *)(registers + offset) = value;
}

static inline void virtio_set_address(uint64_t registers, uint32_t offset, const volatile void *at)
{
    virtio_set(registers, offset, (uint32_t)(uint64_t)at);
    virtio_set(registers, offset + 4, 0);
}

/* The device takes the features of the lower 32 that are named, and version 1. Returns 0 if it is not there, or refuses. */
static inline uint32_t virtio_begin(uint64_t registers, uint32_t kind, uint32_t features)
{
    if (virtio_get(registers, 0x000) != 0x74726976u || virtio_get(registers, 0x008) != kind) {
        return 0;
    }
    virtio_set(registers, VIRTIO_STATUS, 0);
    virtio_set(registers, VIRTIO_STATUS, 3);
    virtio_set(registers, 0x024, 0);
    virtio_set(registers, 0x020, features);
    virtio_set(registers, 0x024, 1);
    virtio_set(registers, 0x020, 1);
    virtio_set(registers, VIRTIO_STATUS, 0xb);
    return (virtio_get(registers, VIRTIO_STATUS) & 8u) != 0;
}

static inline void virtio_queue(struct virtio_queue *queue, uint64_t registers, uint32_t number)
{
    queue->registers = registers;
    queue->number = number;
    virtio_set(registers, 0x030, number);
    virtio_set(registers, 0x038, VIRTIO_ENTRIES);
    virtio_set_address(registers, 0x080, queue->descriptor);
    virtio_set_address(registers, 0x090, &queue->driver);
    virtio_set_address(registers, 0x0a0, &queue->device);
    virtio_set(registers, 0x044, 1);
}

static inline void virtio_run(uint64_t registers)
{
    virtio_set(registers, VIRTIO_STATUS, 0xf);
}

/* Puts a chain that begins at descriptor `head` into the ring; virtio_tell() tells the device. */
static inline void virtio_put(struct virtio_queue *queue, uint32_t head)
{
    volatile uint16_t *index = &queue->driver.index;
    queue->driver.ring[*index % VIRTIO_ENTRIES] = (uint16_t)head;
    __asm__ volatile("" ::: "memory");
    *index = (uint16_t)(*index + 1);
}

static inline void virtio_tell(struct virtio_queue *queue)
{
    if (queue->told != queue->driver.index) {
        queue->told = queue->driver.index;
        virtio_set(queue->registers, 0x050, queue->number);
    }
}

/* The next chain that the device is done with, by its head and the bytes in it. Returns 0 if there is none. */
static inline uint32_t virtio_done(struct virtio_queue *queue, uint32_t *head, uint32_t *bytes)
{
    if (*(volatile uint16_t *)&queue->device.index == queue->seen) {
        return 0;
    }
    __asm__ volatile("" ::: "memory");
    *head = queue->device.ring[queue->seen % VIRTIO_ENTRIES].head;
    *bytes = queue->device.ring[queue->seen % VIRTIO_ENTRIES].bytes;
    queue->seen++;
    return 1;
}

/* Lines of the 8259 pair arrive as vectors from VIRTIO_VECTOR on; those of the two devices by level, others are masked. */
static inline void virtio_prepare_interrupts(void)
{
    static const uint8_t words[] = {
        0x20, 0x11, 0xa0, 0x11, 0x21, VIRTIO_VECTOR, 0xa1, VIRTIO_VECTOR + 8, 0x21, 4, 0xa1, 2, 0x21,
        1,    0xa1, 1,    0x21, 0xfb, 0xa1,          0xf3};
    for (uint32_t i = 0; i < sizeof words; i += 2) {
        guest_out(words[i], words[i + 1]);
    }
    guest_out(0x4d1, 0x0c);
}

static inline void virtio_end_interrupt(uint64_t registers)
{
    virtio_set(registers, 0x064, virtio_get(registers, 0x060));
    guest_out(0xa0, 0x20);
    guest_out(0x20, 0x20);
}

#endif
