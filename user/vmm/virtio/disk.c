/* Where a disk stands: the link is up, the port was started, the disk was reset, identified, configured; then it is active. What
 * fails on the way is tried again after a pause, without making the guest wait. */
#include "virtio/disk.h"

#include "ashlar/domain.h"
#include "ashlar/string.h"
#include "clock.h"
#include "sata_protocol.h"
#include "virtio/block.h"

#define PORT SATA_NUMBER
#define RING_CAPACITY 64u
#define PAGE 4096u
#define IDENTITY (DISK_SLOTS * DISK_MOST) /* where the disk's answer to IDENTIFY goes, behind the slots' buffers */
#define DATA_PAGES (IDENTITY / PAGE + 1u)
#define IDENTITY_SERIAL 20u /* bytes before it */
#define KIND_DISK 1u
#define REASON_DROPPED 4u
#define MAX_TRIES 64u
#define LONG_TRIES 16u         /* what takes long, a flush or a request that was aborted, is tried less often */
#define TIMEOUT 20000000000ul  /* ns: until a request is aborted */
#define RETRY_AFTER 10000000ul /* ns */

enum state { FREE, WAITING, SENT };

struct slot {
    enum state state;
    struct disk_work work;
    uint32_t tries;
    uint64_t sent; /* when */
};

static struct slot slot[DISK_SLOTS];
static struct disk_identity identity;
static uint64_t most_bytes;  /* that the guest may use */
static uint8_t *data;        /* the link's; null while it is not up */
static uint32_t port_slots;  /* that the adapter has */
static uint32_t is_active;   /* the disk takes requests */
static uint32_t is_flushing; /* it was asked for a flush and has not answered */
static uint32_t retry;       /* message to send at `retry_at` */
static uint64_t retry_at = DISK_NEVER;
static uint64_t look_at = DISK_NEVER; /* whether a request takes too long */

static void emit(uint32_t mailbox, uint64_t cookie, const void *payload, uint32_t bytes)
{
    void *place = domain_emit_begin(mailbox, cookie);
    if (bytes != 0) {
        memcpy(place, payload, bytes);
    }
    domain_emit_end(mailbox, cookie);
}

static void say(uint32_t mailbox)
{
    emit(mailbox, 0, 0, 0);
}

static void say_later(uint32_t mailbox)
{
    retry = mailbox;
    retry_at = clock_now() + RETRY_AFTER;
}

const struct disk_identity *disk_identity(void)
{
    return &identity;
}

uint64_t disk_deadline(void)
{
    return retry_at < look_at ? retry_at : look_at;
}

/* ---- requests ---- */

static void finish(uint32_t index, uint32_t is_good)
{
    slot[index].state = FREE;
    block_done(index, is_good, data != 0 ? data + index * DISK_MOST : 0);
}

static void send_transfer(uint32_t index, uint64_t now)
{
    struct slot *s = &slot[index];
    struct sata_read body = {s->work.sector, s->work.count, index * DISK_MOST, (uint8_t)s->work.force};
    if (block_prepare(index, data + index * DISK_MOST) == 0) {
        finish(index, 0);
        return;
    }
    s->state = SENT;
    s->sent = now;
    look_at = look_at == DISK_NEVER ? now + TIMEOUT : look_at;
    emit(s->work.kind == DISK_WRITE ? SATA_WRITE : SATA_READ, index, &body, sizeof body);
}

/* Gives the disk what waits. One flush at a time: it covers all that was done when it is asked for, so a request for one that
 * comes meanwhile waits for the next. */
static void send_waiting(void)
{
    uint32_t may_flush = is_flushing == 0;
    uint64_t now = clock_now();
    for (uint32_t i = 0; i < DISK_SLOTS && is_active; i++) {
        if (slot[i].state != WAITING) {
            continue;
        }
        if (slot[i].work.kind != DISK_FLUSH) {
            send_transfer(i, now);
        } else if (may_flush) {
            slot[i].state = SENT;
            is_flushing = 1;
        }
    }
    if (may_flush && is_flushing) {
        say(SATA_FLUSH);
    }
}

void disk_begin(uint32_t index, const struct disk_work *work)
{
    slot[index] = (struct slot){.state = WAITING, .work = *work};
    send_waiting();
    domain_flush();
}

/* The slot that the message is about; null if it is none that the disk has. */
static struct slot *named_slot(void)
{
    uint64_t cookie = domain_current->cookie;
    return cookie < DISK_SLOTS && slot[cookie].state == SENT && slot[cookie].work.kind != DISK_FLUSH ? &slot[cookie]
                                                                                                     : 0;
}

/* Sent again, unless it was often enough. */
static void send_again(struct slot *s, uint32_t tries)
{
    s->tries += tries;
    if (s->tries >= MAX_TRIES) {
        finish((uint32_t)(s - slot), 0);
    } else {
        s->state = WAITING;
    }
}

static void transfer_failed(void)
{
    struct slot *s = named_slot();
    if (s == 0) {
        return;
    }
    if (((const struct sata_failed *)domain_current->payload)->reason == REASON_DROPPED) {
        send_again(s, 1);
    } else {
        finish((uint32_t)(s - slot), 0);
    }
}

static void flushed(uint32_t is_good)
{
    is_flushing = 0;
    for (uint32_t i = 0; i < DISK_SLOTS; i++) {
        if (slot[i].state != SENT || slot[i].work.kind != DISK_FLUSH) {
            continue;
        }
        if (is_good) {
            finish(i, 1);
        } else {
            send_again(&slot[i], LONG_TRIES);
        }
    }
}

/* Nothing of what was sent will be answered. */
static void lose_all(void)
{
    is_active = 0;
    is_flushing = 0;
    for (uint32_t i = 0; i < DISK_SLOTS; i++) {
        if (slot[i].state == SENT) {
            slot[i].state = WAITING;
        }
    }
}

static void fail_all(void)
{
    is_active = 0;
    is_flushing = 0;
    for (uint32_t i = 0; i < DISK_SLOTS; i++) {
        if (slot[i].state != FREE) {
            finish(i, 0);
        }
    }
}

/* ---- the disk ---- */

/* What was meant for one disk must not reach another. */
static void become(const struct disk_identity *disk)
{
    if (memcmp(disk, &identity, sizeof identity) != 0) {
        fail_all();
        identity = *disk;
        block_changed();
    }
}

static void identified(void)
{
    const struct sata_identify_ok *answer = (const struct sata_identify_ok *)domain_current->payload;
    struct disk_identity disk = {.sectors = answer->sectors, .sector_size = answer->sector_size};
    struct sata_configure body = {answer->depth, 1};
    if (disk.sector_size < BLOCK_SECTOR || disk.sector_size % BLOCK_SECTOR != 0 || DISK_MOST % disk.sector_size != 0) {
        return; /* no disk that a virtio driver could use */
    }
    disk.depth = answer->depth < port_slots ? answer->depth : port_slots;
    disk.depth = disk.depth < DISK_SLOTS ? disk.depth : DISK_SLOTS;
    if (most_bytes / disk.sector_size < disk.sectors) {
        disk.sectors = most_bytes / disk.sector_size;
    }
    for (uint32_t i = 0; i < DISK_SERIAL; i++) { /* ATA swaps the bytes of each pair */
        disk.serial[i] = data[IDENTITY + IDENTITY_SERIAL + (i ^ 1)];
    }
    become(&disk);
    emit(SATA_CONFIGURE, 0, &body, sizeof body);
}

static void unplugged(void)
{
    static const struct disk_identity nothing;
    retry_at = DISK_NEVER;
    fail_all();
    become(&nothing);
    say(SATA_UNPLUGGED_OK);
}

static void was_reset(void)
{
    static const struct sata_identify body = {IDENTITY};
    if (((const struct sata_reset_ok *)domain_current->payload)->kind == KIND_DISK) {
        emit(SATA_IDENTIFY, 0, &body, sizeof body);
    }
}

static void receive_link(uint32_t mailbox)
{
    uint64_t bytes = 0;
    retry_at = DISK_NEVER;
    lose_all();
    data = domain_data(PORT, &bytes);
    if (mailbox == AT(PORT, MAIL_LINK_UP)) {
        say(SATA_START);
    }
}

void disk_receive(uint32_t mailbox)
{
    struct slot *s;
    switch (mailbox) {
    case AT(PORT, MAIL_LINK_UP):
    case AT(PORT, MAIL_LINK_LOST):
        receive_link(mailbox);
        break;
    case SATA_START_OK:
        port_slots = ((const struct sata_start_ok *)domain_current->payload)->slots;
        break;
    case SATA_START_FAIL:
        say_later(SATA_START);
        break;
    case SATA_PLUGGED:
        say(SATA_RESET);
        break;
    case SATA_UNPLUGGED:
        unplugged();
        break;
    case SATA_RESET_OK:
        was_reset();
        break;
    case SATA_IDENTIFY_OK:
        identified();
        break;
    case SATA_RECOVER_FAIL:
        lose_all();
        say_later(SATA_RESET);
        break;
    case SATA_RESET_FAIL:
    case SATA_IDENTIFY_FAIL:
    case SATA_CONFIGURE_FAIL:
        say_later(SATA_RESET);
        break;
    case SATA_CONFIGURE_OK:
    case SATA_RECOVERED:
        is_active = 1;
        break;
    case SATA_DONE:
        s = named_slot();
        if (s != 0) {
            finish((uint32_t)(s - slot), 1);
        }
        break;
    case SATA_FAILED:
        transfer_failed();
        break;
    case SATA_FROZEN:
        is_active = 0;
        say(SATA_RECOVER);
        break;
    case SATA_FLUSH_OK:
        flushed(1);
        break;
    case SATA_FLUSH_FAIL:
        flushed(0);
        break;
    default: /* nothing else was asked for */
        break;
    }
}

void disk_connect(const char *driver, uint64_t limit)
{
    most_bytes = limit;
    domain_connect(PORT, driver, &sata_protocol, RING_CAPACITY, DATA_PAGES);
}

void disk_go_on(void)
{
    send_waiting();
}

/* Names the first request that takes too long, and looks again when the next could. */
static void abort_late(uint64_t now)
{
    look_at = DISK_NEVER;
    for (uint32_t i = 0; i < DISK_SLOTS && is_active; i++) {
        struct slot *s = &slot[i];
        if (s->state != SENT || s->work.kind == DISK_FLUSH) {
            continue;
        }
        if (now - s->sent < TIMEOUT) {
            look_at = s->sent + TIMEOUT < look_at ? s->sent + TIMEOUT : look_at;
            continue;
        }
        s->sent = now;
        s->tries += LONG_TRIES;
        look_at = now + TIMEOUT < look_at ? now + TIMEOUT : look_at;
        emit(SATA_ABORT, i, 0, 0);
        return; /* the disk's whole queue is stopped for it */
    }
}

void disk_expire(uint64_t now)
{
    if (now >= retry_at) {
        retry_at = DISK_NEVER;
        say(retry);
    }
    if (now >= look_at) {
        abort_late(now);
    }
}
