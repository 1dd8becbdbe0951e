/* The registers of virtio-mmio. A driver that breaks the rules of a queue finds DEVICE_NEEDS_RESET in the status, and nothing
 * is done for it until it has reset the device. */
#include "virtio/device.h"

#include "virtio/block.h"
#include "virtio/entropy.h"

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

void virtio_init(struct virtio *device, uint32_t kind)
{
    *device = (struct virtio){.kind = kind};
    queue_init(&device->queue);
}

/* ---- what differs by kind ---- */

static uint64_t offered(const struct virtio *device)
{
    uint64_t own = device->kind == BLOCK_DEVICE ? BLOCK_FEATURES : 0;
    return own | FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1;
}

static uint32_t has_room(const struct virtio *device)
{
    return device->kind != BLOCK_DEVICE || block_has_room();
}

/* A source of randomness answers at once, a disk later. */
static void begin(struct virtio *device, const struct chain *chain)
{
    uint32_t written = 0;
    enum block_answer answer = BLOCK_ANSWERED;
    if (device->kind == BLOCK_DEVICE) {
        answer = block_begin(chain, &written);
    } else {
        written = entropy_serve(chain);
    }
    if (answer == BLOCK_ANSWERED) {
        queue_give(&device->queue, chain, written);
    } else if (answer == BLOCK_MALFORMED) {
        device->queue.broken = 1;
    }
}

/* Requests under way will not be answered. */
static void forget(const struct virtio *device)
{
    if (device->kind == BLOCK_DEVICE) {
        block_forget();
    }
}

/* ---- registers ---- */

static uint32_t half(uint64_t value, uint32_t which)
{
    return which > 1 ? 0 : (uint32_t)(value >> (32 * which));
}

/* Only the first queue is there; the registers of others read as zero and take nothing. */
static uint32_t read_queue(const struct virtio *device, uint32_t offset)
{
    if (device->selected != 0) {
        return 0;
    }
    return offset == REG_QUEUE_SIZE_MAX ? QUEUE_MAX : device->queue.ready;
}

uint64_t virtio_read(const struct virtio *device, uint32_t offset)
{
    if (offset >= CONFIGURATION) {
        return device->kind == BLOCK_DEVICE ? block_configuration(offset - CONFIGURATION) : 0;
    }
    switch (offset) {
    case REG_MAGIC:
        return MAGIC;
    case REG_VERSION:
        return VERSION;
    case REG_DEVICE:
        return device->kind;
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
        return device->kind == BLOCK_DEVICE ? block_generation() : 0;
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
    if (device->queue.broken && (device->status & STATUS_NEEDS_RESET) == 0) {
        forget(device);
        device->status |= STATUS_NEEDS_RESET;
        device->interrupts |= (device->status & STATUS_DRIVER_OK) != 0 ? INTERRUPT_CONFIGURATION : 0;
    }
}

/* Serves what waits: at most as many requests as the ring holds, whatever is written into the ring meanwhile, and one question
 * more, which asks the driver for a notification. */
static void serve(struct virtio *device)
{
    struct chain chain;
    if ((device->status & STATUS_DRIVER_OK) == 0) {
        return;
    }
    for (uint32_t i = 0; i <= device->queue.size && has_room(device) && queue_take(&device->queue, &chain); i++) {
        begin(device, &chain);
    }
    note_broken(device);
    if (device->queue.broken == 0 && queue_wants_interrupt(&device->queue)) {
        device->interrupts |= INTERRUPT_USED;
    }
}

void virtio_answer(struct virtio *device, const struct chain *chain, uint32_t written)
{
    queue_give(&device->queue, chain, written);
}

void virtio_resume(struct virtio *device)
{
    serve(device);
}

void virtio_configuration_changed(struct virtio *device)
{
    device->interrupts |= (device->status & STATUS_DRIVER_OK) != 0 ? INTERRUPT_CONFIGURATION : 0;
}

/* Zero resets. FEATURES_OK stays clear if the driver took what was not offered, or not the version that this is. */
static void write_status(struct virtio *device, uint32_t value)
{
    if (value == 0) {
        forget(device);
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
    serve(device);
}

/* Registers of the selected queue. What describes it is fixed while it is ready. */
static void write_queue(struct virtio *device, uint32_t offset, uint32_t value)
{
    struct queue *queue = &device->queue;
    if (device->selected != 0 || (device->status & STATUS_FEATURES_OK) == 0) {
        return;
    }
    if (offset == REG_QUEUE_READY && value == 0) {
        forget(device);
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
    if (device->kind == VIRTIO_NONE) {
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
        if (value == 0) {
            serve(device);
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
