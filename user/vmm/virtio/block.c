/* Requests between the guest's queue and the disk. A request's number here is its slot there. */
#include "virtio/block.h"

#include "ashlar/string.h"
#include "bytes.h"
#include "virtio/device.h"
#include "virtio/disk.h"

#define TYPE_READ 0u
#define TYPE_WRITE 1u
#define TYPE_FLUSH 4u
#define TYPE_GET_ID 8u
#define STATUS_OK_BYTE 0u
#define STATUS_IOERR 1u
#define STATUS_UNSUPP 2u

#define FEATURE_SIZE_MAX (1ul << 1)
#define FEATURE_SEG_MAX (1ul << 2)
#define FEATURE_BLK_SIZE (1ul << 6)
#define FEATURE_FLUSH (1ul << 9)

#define HEADER 16u /* type, 4 bytes without meaning, sector */
#define PAGE 4096u

/* The configuration space. */
#define CAPACITY 0u
#define SIZE_MAX_AT 8u
#define SEG_MAX_AT 12u
#define BLK_SIZE_AT 20u
#define CONFIGURATION 24u

enum state { FREE, OPEN, FORGOTTEN };

struct request {
    enum state state;
    uint32_t type;
    uint32_t bytes; /* of data */
    struct chain chain;
};

static struct request request[DISK_SLOTS];
static struct virtio *device;
static uint32_t generation;

static uint64_t block_configuration(uint32_t offset)
{
    uint8_t bytes[CONFIGURATION + 8] = {0};
    const struct disk_identity *disk = disk_identity();
    put(bytes + CAPACITY, disk->sectors * (disk->sector_size / BLOCK_SECTOR), 8);
    put(bytes + SIZE_MAX_AT, PAGE, 4);
    put(bytes + SEG_MAX_AT, DISK_MOST / PAGE, 4);
    put(bytes + BLK_SIZE_AT, disk->sector_size, 4);
    return offset < CONFIGURATION ? get(bytes + offset, 8) : 0;
}

static uint32_t block_generation(void)
{
    return generation;
}

void block_changed(void)
{
    generation++;
    if (device != 0) { /* else the guest has not begun */
        virtio_configuration_changed(device);
    }
}

static uint32_t free_slot(void)
{
    uint32_t slot = 0;
    while (slot < disk_identity()->depth && request[slot].state != FREE) {
        slot++;
    }
    return slot;
}

/* Not while the disk still has requests that the driver has forgotten. */
static uint32_t block_has_room(uint32_t queue)
{
    (void)queue;
    for (uint32_t i = 0; i < DISK_SLOTS; i++) {
        if (request[i].state == FORGOTTEN) {
            return 0;
        }
    }
    /* Without a disk each request fails at once, and takes no slot. */
    return disk_identity()->sectors == 0 || free_slot() < disk_identity()->depth;
}

static void block_forget(uint32_t queue)
{
    (void)queue;
    for (uint32_t i = 0; i < DISK_SLOTS; i++) {
        if (request[i].state == OPEN) {
            request[i].state = FORGOTTEN;
        }
    }
}

/* Writes the answer's last byte. */
static void put_status(const struct chain *chain, uint8_t status)
{
    chain_write(chain, chain_writable(chain) - 1, &status, 1);
}

static enum virtio_answer answer(const struct chain *chain, uint8_t status, uint32_t data, uint32_t *written)
{
    put_status(chain, status);
    /* The count is of bytes from the first on; the last one is among them only if there is none between. */
    *written = data + 1 == chain_writable(chain) ? data + 1 : data;
    return VIRTIO_ANSWERED;
}

static enum virtio_answer tell_id(const struct chain *chain, uint32_t *written)
{
    uint32_t room = chain_writable(chain) - 1;
    uint32_t bytes = room < DISK_SERIAL ? room : DISK_SERIAL;
    chain_write(chain, 0, disk_identity()->serial, bytes);
    return answer(chain, STATUS_OK_BYTE, bytes, written);
}

/* Does the disk have the sectors, and can it do that much at once? */
static uint32_t is_possible(uint64_t sector, uint32_t bytes)
{
    const struct disk_identity *disk = disk_identity();
    uint64_t unit = disk->sector_size / BLOCK_SECTOR;
    if (disk->sectors == 0 || bytes == 0 || bytes > DISK_MOST || bytes % disk->sector_size != 0 || sector % unit != 0) {
        return 0;
    }
    return sector / unit < disk->sectors && bytes / disk->sector_size <= disk->sectors - sector / unit;
}

static enum virtio_answer block_begin(uint32_t queue, const struct chain *chain, uint32_t *written)
{
    (void)queue;
    uint8_t header[HEADER];
    uint32_t readable = chain_readable(chain), writable = chain_writable(chain);
    if (writable == 0) {
        return VIRTIO_MALFORMED;
    }
    if (readable < HEADER) {
        return answer(chain, STATUS_IOERR, 0, written);
    }
    chain_read(chain, 0, header, HEADER); /* once: the guest may be writing it */
    uint32_t type = (uint32_t)get(header, 4);
    uint64_t sector = get(header + 8, 8);
    if (type == TYPE_GET_ID) {
        return tell_id(chain, written);
    }
    if (type != TYPE_READ && type != TYPE_WRITE && type != TYPE_FLUSH) {
        return answer(chain, STATUS_UNSUPP, 0, written);
    }
    uint32_t bytes = type == TYPE_READ ? writable - 1 : type == TYPE_WRITE ? readable - HEADER : 0;
    if (disk_identity()->sectors == 0 || (type != TYPE_FLUSH && is_possible(sector, bytes) == 0)) {
        return answer(chain, STATUS_IOERR, 0, written);
    }
    uint32_t slot = free_slot(), unit = disk_identity()->sector_size / BLOCK_SECTOR;
    request[slot].state = OPEN;
    request[slot].type = type;
    request[slot].bytes = bytes;
    request[slot].chain = *chain;
    /* Who does not ask for flushes expects that what is written stays. */
    disk_begin(slot, &(struct disk_work){.kind = type == TYPE_READ    ? DISK_READ
                                                 : type == TYPE_WRITE ? DISK_WRITE
                                                                      : DISK_FLUSH,
                                         .sector = sector / unit,
                                         .count = bytes / disk_identity()->sector_size,
                                         .force = type == TYPE_WRITE && (device->accepted & FEATURE_FLUSH) == 0});
    return VIRTIO_LATER;
}

uint32_t block_prepare(uint32_t slot, uint8_t *buffer)
{
    const struct request *r = &request[slot];
    if (r->state != OPEN) {
        return 0;
    }
    if (r->type == TYPE_WRITE) {
        chain_read(&r->chain, HEADER, buffer, r->bytes);
    }
    return 1;
}

void block_done(uint32_t slot, uint32_t is_good, const uint8_t *buffer)
{
    struct request *r = &request[slot];
    uint32_t written = 0, data = 0;
    if (r->state == OPEN) {
        if (is_good && r->type == TYPE_READ) {
            chain_write(&r->chain, 0, buffer, r->bytes);
            data = r->bytes;
        }
        answer(&r->chain, is_good ? STATUS_OK_BYTE : STATUS_IOERR, data, &written);
        virtio_answer(device, 0, &r->chain, written);
    }
    r->state = FREE;
}

const struct virtio_kind block_kind = {
    .number = 2,
    .queues = 1,
    .features = FEATURE_SIZE_MAX | FEATURE_SEG_MAX | FEATURE_BLK_SIZE | FEATURE_FLUSH,
    .has_room = block_has_room,
    .begin = block_begin,
    .forget = block_forget,
    .configuration = block_configuration,
    .generation = block_generation,
};

/* What the last driver had under way, nothing answers. */
void block_attach(struct virtio *to)
{
    device = to;
    block_forget(0);
}
