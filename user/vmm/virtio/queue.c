/* Walks the chains of descriptors that a guest has written. */
#include "virtio/queue.h"

#include "guest.h"

#define DESCRIPTOR_NEXT 1u
#define DESCRIPTOR_WRITE 2u
#define DESCRIPTOR_INDIRECT 4u
#define DESCRIPTOR_BYTES 16u
#define DRIVER_NO_INTERRUPT 1u
#define RING_HEADER 4u /* flags and index, 2 bytes each */

/* A descriptor as it was when it was read. */
struct descriptor {
    uint64_t address;
    uint32_t length;
    uint16_t flags;
    uint16_t next;
};

/* One read of guest memory, which the guest may be writing. Requires that the address was checked. */
static uint16_t read16(uint64_t address)
{
    return *(volatile const uint16_t *)guest_pointer(address, 2);
}

static void write16(uint64_t address, uint16_t value)
{
    *(volatile uint16_t *)guest_pointer(address, 2) = value;
}

static uint64_t driver_ring_bytes(const struct queue *queue)
{
    return RING_HEADER + 2ul * queue->size + 2;
}

static uint64_t device_ring_bytes(const struct queue *queue)
{
    return RING_HEADER + 8ul * queue->size + 2;
}

void queue_init(struct queue *queue)
{
    *queue = (struct queue){.size = QUEUE_MAX};
}

void queue_enable(struct queue *queue, uint32_t event_index, uint32_t indirect)
{
    uint32_t size = queue->size;
    if (size == 0 || size > QUEUE_MAX || (size & (size - 1)) != 0 || queue->descriptors % 16 != 0 ||
        queue->driver_ring % 2 != 0 || queue->device_ring % 4 != 0 ||
        guest_pointer(queue->descriptors, (uint64_t)DESCRIPTOR_BYTES * size) == 0 ||
        guest_pointer(queue->driver_ring, driver_ring_bytes(queue)) == 0 ||
        guest_pointer(queue->device_ring, device_ring_bytes(queue)) == 0) {
        queue->broken = 1;
        return;
    }
    queue->event_index = event_index;
    queue->indirect = indirect;
    queue->taken = 0;
    queue->used = 0;
    queue->signalled = 0;
    queue->ready = 1;
}

/* Requires that the table was checked to hold the entry. */
static struct descriptor read_descriptor(uint64_t table, uint32_t index)
{
    uint64_t at = table + (uint64_t)index * DESCRIPTOR_BYTES;
    volatile const uint64_t *words = guest_pointer(at, DESCRIPTOR_BYTES);
    uint64_t address = words[0], rest = words[1];
    return (struct descriptor){address, (uint32_t)rest, (uint16_t)(rest >> 32), (uint16_t)(rest >> 48)};
}

/* Adds the descriptor's bytes to the chain. Returns 0 if they are not the guest's, or stand in the wrong place. */
static uint32_t add_segment(struct chain *chain, const struct descriptor *descriptor, uint64_t *total)
{
    uint8_t *at = guest_pointer(descriptor->address, descriptor->length);
    uint32_t is_writable = (descriptor->flags & DESCRIPTOR_WRITE) != 0;
    *total += descriptor->length;
    if (descriptor->length == 0 || at == 0 || (is_writable == 0 && chain->writable != 0) || *total > UINT32_MAX) {
        return 0;
    }
    chain->segment[chain->readable + chain->writable] = (struct segment){at, descriptor->length};
    chain->readable += is_writable == 0;
    chain->writable += is_writable;
    return 1;
}

/* Follows the chain that begins at `head`. Returns 0 if it breaks a rule: an index outside its table, more descriptors than
 * the queue has entries (so every loop ends), a table inside a table. */
static uint32_t walk(const struct queue *queue, struct chain *chain)
{
    uint64_t table = queue->descriptors, total = 0;
    uint32_t entries = queue->size, index = chain->head, is_inside = 0;
    chain->readable = 0;
    chain->writable = 0;
    for (;;) {
        if (index >= entries || chain->readable + chain->writable == queue->size) {
            return 0;
        }
        struct descriptor descriptor = read_descriptor(table, index);
        if ((descriptor.flags & DESCRIPTOR_INDIRECT) != 0) {
            if (queue->indirect == 0 || is_inside || (descriptor.flags & DESCRIPTOR_NEXT) != 0 ||
                chain->readable + chain->writable != 0 || descriptor.length % DESCRIPTOR_BYTES != 0 ||
                descriptor.address % 8 != 0 || guest_pointer(descriptor.address, descriptor.length) == 0) {
                return 0;
            }
            table = descriptor.address;
            entries = descriptor.length / DESCRIPTOR_BYTES;
            index = 0;
            is_inside = 1;
            continue;
        }
        if (add_segment(chain, &descriptor, &total) == 0) {
            return 0;
        }
        if ((descriptor.flags & DESCRIPTOR_NEXT) == 0) {
            return 1;
        }
        index = descriptor.next;
    }
}

/* How many chains the driver has put into its ring that were not taken; more than the ring holds break the queue. */
static uint32_t num_waiting(struct queue *queue)
{
    uint16_t waiting = (uint16_t)(read16(queue->driver_ring + 2) - queue->taken);
    if (waiting > queue->size) {
        queue->broken = 1;
        return 0;
    }
    return waiting;
}

uint32_t queue_take(struct queue *queue, struct chain *chain)
{
    if (queue->ready == 0 || queue->broken) {
        return 0;
    }
    if (num_waiting(queue) == 0) {
        if (queue->event_index == 0 || queue->broken) {
            return 0;
        }
        /* Ask for a notification of the next chain, then look again: it may have come in between. */
        write16(queue->device_ring + RING_HEADER + 8ul * queue->size, queue->taken);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (num_waiting(queue) == 0) {
            return 0;
        }
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    chain->head = read16(queue->driver_ring + RING_HEADER + 2ul * (queue->taken & (queue->size - 1)));
    queue->taken++;
    if (walk(queue, chain) == 0) {
        queue->broken = 1;
        return 0;
    }
    return 1;
}

void queue_give(struct queue *queue, const struct chain *chain, uint32_t written)
{
    uint64_t at = queue->device_ring + RING_HEADER + 8ul * (queue->used & (queue->size - 1));
    volatile uint32_t *entry = guest_pointer(at, 8);
    entry[0] = chain->head;
    entry[1] = written;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    queue->used++;
    write16(queue->device_ring + 2, queue->used);
}

uint32_t queue_wants_interrupt(struct queue *queue)
{
    uint16_t before = queue->signalled;
    if (queue->ready == 0 || queue->used == before) {
        return 0;
    }
    queue->signalled = queue->used;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (queue->event_index == 0) {
        return (read16(queue->driver_ring) & DRIVER_NO_INTERRUPT) == 0;
    }
    uint16_t event = read16(queue->driver_ring + RING_HEADER + 2ul * queue->size);
    return (uint16_t)(queue->used - event - 1) < (uint16_t)(queue->used - before);
}
