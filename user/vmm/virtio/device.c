/* The registers of virtio-mmio. A driver that breaks the rules of a queue finds DEVICE_NEEDS_RESET in the status, and nothing
 * is done for it until it has reset the device. */
#include "virtio/device.h"

#define MAGIC 0x74726976u /* "virt" */
#define VERSION 2u
#define VENDOR 0x4c485341u /* "ASHL" */

#define REG_MAGIC 0x000u
#define REG_VERSION 0x004u
#define REG_DEVICE 0x008u
#define REG_VENDOR 0x00cu
#define REG_DEVICE_FEATURES 0x010u
#define REG_DEVICE_FEATURES_HALF 0x014u
#define REG_DRIVER_FEATURES 0x020u
#define REG_DRIVER_FEATURES_HALF 0x024u
#define REG_QUEUE_SELECT 0x030u
#define REG_QUEUE_SIZE_MAX 0x034u
#define REG_QUEUE_SIZE 0x038u
#define REG_QUEUE_READY 0x044u
#define REG_QUEUE_NOTIFY 0x050u
#define REG_INTERRUPT_STATUS 0x060u
#define REG_INTERRUPT_ACK 0x064u
#define REG_STATUS 0x070u
#define REG_DESCRIPTORS 0x080u /* and the upper half behind it, as of the two below */
#define REG_DRIVER_RING 0x090u
#define REG_DEVICE_RING 0x0a0u
#define REG_GENERATION 0x0fcu
#define CONFIGURATION 0x100u /* to VIRTIO_SIZE */

#define STATUS_DRIVER_OK 4u
#define STATUS_FEATURES_OK 8u
#define STATUS_NEEDS_RESET 0x40u
#define INTERRUPT_USED 1u
#define INTERRUPT_CONFIGURATION 2u

#define FEATURE_INDIRECT (1ul << 28)
#define FEATURE_EVENT_INDEX (1ul << 29)
#define FEATURE_VERSION_1 (1ul << 32)

void virtio_init(struct virtio *device, const struct virtio_kind *kind)
{
    *device = (struct virtio){.kind = kind};
    for (uint32_t i = 0; i < VIRTIO_QUEUES; i++) {
        queue_init(&device->queue[i]);
    }
}

static uint64_t offered(const struct virtio *device)
{
    return device->kind->features | FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1;
}

static uint32_t has_room(const struct virtio *device, uint32_t queue)
{
    return device->kind->has_room == 0 || device->kind->has_room(queue);
}

/* Requests of the queue that are under way will not be answered. */
static void forget(const struct virtio *device, uint32_t queue)
{
    if (device->kind->forget != 0) {
        device->kind->forget(queue);
    }
}

static void forget_all(const struct virtio *device)
{
    for (uint32_t i = 0; i < device->kind->queues; i++) {
        forget(device, i);
    }
}

/* A device with one broken queue is broken. */
static uint32_t is_broken(const struct virtio *device)
{
    uint32_t broken = 0;
    for (uint32_t i = 0; i < VIRTIO_QUEUES; i++) {
        broken |= device->queue[i].broken;
    }
    return broken;
}

static void begin(struct virtio *device, uint32_t queue, const struct chain *chain)
{
    uint32_t written = 0;
    enum virtio_answer answer = device->kind->begin(queue, chain, &written);
    if (answer == VIRTIO_ANSWERED) {
        queue_give(&device->queue[queue], chain, written);
    } else if (answer == VIRTIO_MALFORMED) {
        device->queue[queue].broken = 1;
    }
}

/* ---- registers ---- */

static uint32_t half(uint64_t value, uint32_t which)
{
    return which > 1 ? 0 : (uint32_t)(value >> (32 * which));
}

/* The registers of queues that the device does not have read as zero and take nothing. */
static uint32_t read_queue(const struct virtio *device, uint32_t offset)
{
    if (device->selected >= device->kind->queues) {
        return 0;
    }
    return offset == REG_QUEUE_SIZE_MAX ? QUEUE_MAX : device->queue[device->selected].ready;
}

static uint64_t read_configuration(const struct virtio *device, uint32_t offset)
{
    return device->kind->configuration != 0 ? device->kind->configuration(offset) : 0;
}

/* What a driver finds where no device is. */
static uint64_t read_nothing(uint32_t offset)
{
    return offset == REG_MAGIC ? MAGIC : offset == REG_VERSION ? VERSION : offset == REG_VENDOR ? VENDOR : 0;
}

uint64_t virtio_read(const struct virtio *device, uint32_t offset)
{
    if (device->kind == 0) {
        return read_nothing(offset);
    }
    if (offset >= CONFIGURATION) {
        return read_configuration(device, offset - CONFIGURATION);
    }
    switch (offset) {
    case REG_MAGIC:
        return MAGIC;
    case REG_VERSION:
        return VERSION;
    case REG_DEVICE:
        return device->kind->number;
    case REG_VENDOR:
        return VENDOR;
    case REG_DEVICE_FEATURES:
        return half(offered(device), device->device_half);
    case REG_QUEUE_SIZE_MAX:
    case REG_QUEUE_READY:
        return read_queue(device, offset);
    case REG_INTERRUPT_STATUS:
        return device->interrupts;
    case REG_STATUS:
        return device->status;
    case REG_GENERATION:
        return device->kind->generation != 0 ? device->kind->generation() : 0;
    default:
        return 0;
    }
}

static void set_half(uint64_t *value, uint32_t upper, uint32_t to)
{
    *value = upper ? (*value & 0xfffffffful) | (uint64_t)to << 32 : (*value & ~0xfffffffful) | to;
}

static void note_broken(struct virtio *device)
{
    if (is_broken(device) && (device->status & STATUS_NEEDS_RESET) == 0) {
        forget_all(device);
        device->status |= STATUS_NEEDS_RESET;
        device->interrupts |= (device->status & STATUS_DRIVER_OK) != 0 ? INTERRUPT_CONFIGURATION : 0;
    }
}

/* Serves what waits in a queue: at most as many requests as the ring holds, whatever is written into the ring meanwhile, and one
 * question more, which asks the driver for a notification. */
static void serve(struct virtio *device, uint32_t number)
{
    struct queue *queue = &device->queue[number];
    struct chain chain;
    if ((device->status & STATUS_DRIVER_OK) == 0 || is_broken(device)) {
        return;
    }
    for (uint32_t i = 0; i <= queue->size && has_room(device, number) && queue_take(queue, &chain); i++) {
        begin(device, number, &chain);
    }
    note_broken(device);
    if (is_broken(device) == 0 && queue_wants_interrupt(queue)) {
        device->interrupts |= INTERRUPT_USED;
    }
}

void virtio_answer(struct virtio *device, uint32_t queue, const struct chain *chain, uint32_t written)
{
    queue_give(&device->queue[queue], chain, written);
}

void virtio_resume(struct virtio *device)
{
    for (uint32_t i = 0; device->kind != 0 && i < device->kind->queues; i++) {
        serve(device, i);
    }
}

void virtio_configuration_changed(struct virtio *device)
{
    device->interrupts |= (device->status & STATUS_DRIVER_OK) != 0 ? INTERRUPT_CONFIGURATION : 0;
}

/* Zero resets. FEATURES_OK stays clear if the driver took what was not offered, or not the version that this is. */
static void write_status(struct virtio *device, uint32_t value)
{
    if (value == 0) {
        forget_all(device);
        virtio_init(device, device->kind);
        return;
    }
    if ((device->accepted & ~offered(device)) != 0 || (device->accepted & FEATURE_VERSION_1) == 0) {
        value &= ~STATUS_FEATURES_OK;
    }
    if ((value & STATUS_FEATURES_OK) == 0) {
        value &= ~STATUS_DRIVER_OK;
    }
    device->status |= value & 0xff & ~STATUS_NEEDS_RESET;
    virtio_resume(device);
}

/* Registers of the selected queue. What describes it is fixed while it is ready. */
static void write_queue(struct virtio *device, uint32_t offset, uint32_t value)
{
    if (device->selected >= device->kind->queues || (device->status & STATUS_FEATURES_OK) == 0) {
        return;
    }
    struct queue *queue = &device->queue[device->selected];
    if (offset == REG_QUEUE_READY && value == 0) {
        forget(device, device->selected);
        queue->ready = 0;
    }
    if (queue->ready || queue->broken) {
        return;
    }
    switch (offset & ~4u) {
    case REG_DESCRIPTORS:
        set_half(&queue->descriptors, offset & 4, value);
        break;
    case REG_DRIVER_RING:
        set_half(&queue->driver_ring, offset & 4, value);
        break;
    case REG_DEVICE_RING:
        set_half(&queue->device_ring, offset & 4, value);
        break;
    default:
        if (offset == REG_QUEUE_SIZE) {
            queue->size = value;
        } else if (offset == REG_QUEUE_READY && value == 1) {
            queue_enable(queue, (device->accepted & FEATURE_EVENT_INDEX) != 0,
                         (device->accepted & FEATURE_INDIRECT) != 0);
            note_broken(device);
        }
    }
}

void virtio_write(struct virtio *device, uint32_t offset, uint32_t value)
{
    if (device->kind == 0) {
        return;
    }
    switch (offset) {
    case REG_DEVICE_FEATURES_HALF:
        device->device_half = value;
        break;
    case REG_DRIVER_FEATURES_HALF:
        device->driver_half = value;
        break;
    case REG_DRIVER_FEATURES:
        if ((device->status & STATUS_FEATURES_OK) == 0 && device->driver_half <= 1) {
            set_half(&device->accepted, device->driver_half, value);
        }
        break;
    case REG_QUEUE_SELECT:
        device->selected = value;
        break;
    case REG_QUEUE_NOTIFY:
        if (value < device->kind->queues) {
            serve(device, value);
        }
        break;
    case REG_INTERRUPT_ACK:
        device->interrupts &= ~value;
        break;
    case REG_STATUS:
        write_status(device, value);
        break;
    default:
        write_queue(device, offset, value);
        break;
    }
}
