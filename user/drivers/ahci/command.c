/* Commands: what the adapter reads of them in memory, those that are queued, and those that are not, of which one is executed
 * at a time. A client's command has the slot, and the tag, of its cookie. */
#include "ahci.h"

#define PAGE 4096u

uint32_t issued;
uint32_t waiting;
struct command command[NUM_SLOT];

uint32_t lowest_slot(uint32_t bits)
{
    return (uint32_t)__builtin_ctz(bits);
}

static volatile struct table *table(uint32_t slot)
{
    return (volatile struct table *)dma_memory(PCI_NUMBER, TABLES_AT + slot * (uint32_t)sizeof(struct table));
}

static void fill_header(uint32_t slot, uint32_t flags)
{
    volatile struct header *h =
        (volatile struct header *)dma_memory(PCI_NUMBER, LIST_AT + slot * (uint32_t)sizeof(struct header));
    uint64_t physical = dma_physical(PCI_NUMBER, TABLES_AT + slot * (uint32_t)sizeof(struct table));

    h->flags = flags | HEADER_FRAME_WORDS;
    h->transferred = 0;
    h->table_low = (uint32_t)physical;
    h->table_high = (uint32_t)(physical >> 32);
}

static void fill_frame(uint32_t slot, uint32_t operation, uint32_t features, uint64_t lba, uint32_t flags,
                       uint32_t count)
{
    volatile struct table *t = table(slot);

    t->frame[0] = FRAME_COMMAND | operation << FRAME_COMMAND_SHIFT | (features & 0xffu) << FRAME_FEATURES_SHIFT;
    t->frame[1] = (uint32_t)(lba & 0xffffffu) | flags;
    t->frame[2] = (uint32_t)(lba >> 24 & 0xffffffu) | (features >> 8 & 0xffu) << 24;
    t->frame[3] = count & 0xffffu;
    t->frame[4] = 0;
}

static void fill_region(uint32_t slot, uint32_t index, uint64_t physical, uint32_t bytes)
{
    volatile struct region *r = &table(slot)->region[index];

    r->low = (uint32_t)physical;
    r->high = (uint32_t)(physical >> 32);
    r->spare = 0;
    r->last = bytes - 1u;
}

/* Pages follow each other for the processor only: a region for each. Returns how many there are. */
static uint32_t fill_regions(uint32_t slot, uint32_t buffer, uint32_t bytes)
{
    uint32_t index = 0;

    while (bytes != 0u && index < NUM_REGION) {
        uint32_t part = PAGE - buffer % PAGE;
        if (part > bytes) {
            part = bytes;
        }
        fill_region(slot, index, dma_physical(SATA_NUMBER, buffer), part);
        buffer = buffer + part;
        bytes = bytes - part;
        index = index + 1u;
    }
    return index;
}

/* What the client says of its buffer and of the sectors is good, and the queue has the slot. */
uint32_t is_acceptable(uint32_t slot)
{
    const struct command *c = &command[slot];
    uint64_t bytes = (uint64_t)c->count * sector_size;
    uint64_t pages = (c->buffer % PAGE + bytes + PAGE - 1u) / PAGE;

    return slot < slots && slot < depth && c->count != 0u && c->buffer % 2u == 0u && pages <= NUM_REGION &&
           c->buffer + bytes <= dma_size(SATA_NUMBER) && c->sector < sectors && c->count <= sectors - c->sector;
}

/* Gives the device a command of the client. Requires: it is acceptable. */
void issue(uint32_t slot)
{
    const struct command *c = &command[slot];
    uint32_t operation = c->is_write ? ATA_WRITE_QUEUED : ATA_READ_QUEUED;
    uint32_t regions = fill_regions(slot, c->buffer, c->count * sector_size);
    uint32_t bit = 1u << slot;

    fill_frame(slot, operation, c->count, c->sector, FRAME_LBA | (c->force ? FRAME_FORCE : 0u),
               slot << FRAME_TAG_SHIFT);
    fill_header(slot, regions << HEADER_REGIONS_SHIFT | (c->is_write ? HEADER_WRITE : 0u));
    waiting = waiting & ~bit;
    issued = issued | bit;
    dma_barrier();
    write32(port_register(PX_SACT), bit);
    write32(port_register(PX_CI), bit);
}

/* 512 bytes of an answer go to the driver's own memory. */
void execute(uint32_t operation, uint32_t features, uint64_t lba, uint32_t count)
{
    uint32_t has_answer = operation == ATA_IDENTIFY || operation == ATA_READ_LOG;

    fill_frame(0, operation, features, lba, FRAME_LBA, count);
    fill_region(0, 0, dma_physical(PCI_NUMBER, ANSWER_AT), SECTOR);
    fill_header(0, (has_answer ? 1u : 0u) << HEADER_REGIONS_SHIFT);
    dma_barrier();
    write32(port_register(PX_CI), 1);
}

uint32_t disk_fails(void)
{
    if (port_has_error()) {
        has_failed = 1;
    }
    return has_failed;
}

uint32_t is_executing(void)
{
    return !disk_fails() && (read32(port_register(PX_CI)) & 1u) != 0u;
}

/* The status alone does not tell: queued commands that end meanwhile set it too. */
uint32_t has_executed(void)
{
    dma_barrier();
    return !is_executing() && !has_failed &&
           (read32(port_register(PX_TFD)) & (TFD_BUSY | TFD_REQUEST | TFD_ERROR)) == 0u && adapter_answers();
}

uint16_t answer_word(uint32_t index)
{
    return ((volatile uint16_t *)dma_memory(PCI_NUMBER, ANSWER_AT))[index];
}

/* After an error a command whose bit is clear may be under way all the same: it may have been given to the disk behind the error,
 * and QEMU's model keeps such a one and gives it to the disk again, when it is done too. So the commands stay issued until the
 * recovery, which makes the disk let go of them, and no buffer goes back before. */
void reap(void)
{
    uint32_t done = issued & ~read32(port_register(PX_SACT));

    if (!adapter_answers()) {
        done = 0;
    }
    dma_barrier();
    issued = issued & ~done;
    while (done != 0u) {
        EMIT(SATA_DONE, lowest_slot(done));
        done = done & (done - 1u);
    }
}

void fail_all(void)
{
    uint32_t open = issued | waiting;

    issued = 0;
    waiting = 0;
    while (open != 0u) {
        uint32_t slot = lowest_slot(open);
        struct sata_failed body = {REASON_DROPPED, command[slot].sector};
        EMIT(SATA_FAILED, slot, &body);
        open = open & (open - 1u);
    }
}
