/* The disk's side: this service is the one client of the driver. The link comes up, the port is started, the disk is reset,
 * identified and configured; then it is open. What fails on the way is tried again after a pause, without making any client wait. */
#ifndef BLOCK_DISK_H
#define BLOCK_DISK_H

#include "ashlar/print.h"
#include "queue.h"

#define DRIVER_UP AT(SATA_NUMBER, MAIL_LINK_UP)
#define DRIVER_LOST AT(SATA_NUMBER, MAIL_LINK_LOST)

#define IDENTITY_SERIAL 20u /* bytes before it */
#define SERIAL_BYTES 20u
#define STOPS_TOLD 16u         /* a client with bad sectors must not fill the console */
#define RETRY_AFTER 10000000ul /* ns */

/* What is asked of the driver after a pause. */
enum retry { NOTHING, START, RESET };

static uint32_t port_slots = SLOTS; /* that the adapter has */
static uint32_t is_stopped;         /* the queue, by an error or an abort */
static uint32_t was_alone;          /* ... with one command in it */
static enum retry retry;
static uint64_t retry_at = NEVER;
static uint32_t num_told; /* of stops */

static void retry_later(enum retry what)
{
    retry = what;
    retry_at = time_now() + RETRY_AFTER;
}

static void retry_no_more(void)
{
    retry = NOTHING;
    retry_at = NEVER;
}

/* The client's part of the disk that is there now. */
static void place(struct client *c, uint32_t number)
{
    uint64_t within = disk.sector_size - 1u; /* a sector */
    uint64_t first = c->at >> disk.shift % 64u, sectors = c->size >> disk.shift % 64u;

    c->places = share_places(disk.depth, c->weight, weights);
    c->work_most = share_work(disk.depth, c->weight, weights);
    c->sectors = 0;
    if ((c->at & within) == 0u && (c->size & within) == 0u && first <= disk.sectors &&
        sectors <= disk.sectors - first) {
        c->first = first;
        c->sectors = sectors;
    } else {
        print("BLOCK a disk of %lu sectors of %u bytes has no place for the part of %s\n", disk.sectors,
              disk.sector_size, client_name(number));
    }
}

/* There is no disk any more. */
static void disk_goes(void)
{
    queue_forget();
    disk.is_known = 0;
    for (uint32_t i = 0; i < CLIENTS; i = i + 1u) {
        TURN_TO(i);
        client[CLIENT()].sectors = 0;
        unplug();
    }
}

/* The disk that was identified, by its serial number: other words tell of how it was set up. */
static uint32_t is_same(uint64_t sectors, uint32_t sector_size, uint32_t depth)
{
    uint8_t serial[SERIAL_BYTES] = {0};

    return disk.is_known && sectors == disk.sectors && sector_size == disk.sector_size && depth == disk.depth &&
           area_read(serial, DISK_AREA, IDENTITY + IDENTITY_SERIAL, sizeof serial) &&
           memcmp(serial, disk_identity + IDENTITY_SERIAL, sizeof serial) == 0;
}

/* The disk is this one. What was asked of another one before is not asked of it. */
static void disk_comes(uint64_t sectors, uint32_t sector_size, uint32_t depth)
{
    if (disk.is_known) {
        disk_goes();
    }
    disk.is_known = area_read(disk_identity, DISK_AREA, IDENTITY, IDENTITY_BYTES);
    disk.sectors = sectors;
    disk.sector_size = sector_size;
    disk.shift = lowest_of(sector_size);
    disk.depth = depth;
    slots_of_disk = ~0u >> (SLOTS - depth) % SLOTS;
    for (uint32_t i = 0; i < client_count() && i < CLIENTS; i = i + 1u) {
        TURN_TO(i);
        place(&client[CLIENT()], i);
        announce();
    }
    print("BLOCK up, %lu sectors of %u bytes for %u clients, %u commands at a time\n", disk.sectors, disk.sector_size,
          client_count(), disk.depth);
}

static void identified(void)
{
    const struct sata_identify_ok *answer = MAIL(sata_identify_ok);
    struct sata_configure body = {answer->depth, 1};
    uint32_t depth = answer->depth < port_slots ? answer->depth : port_slots;
    uint32_t sector_size = answer->sector_size;

    if (sector_size < SECTOR_LEAST || sector_size > SECTOR_MOST || (sector_size & (sector_size - 1u)) != 0u) {
        return; /* no disk that a client could use */
    }
    if (!is_same(answer->sectors, sector_size, depth)) {
        disk_comes(answer->sectors, sector_size, depth);
    }
    EMIT(SATA_CONFIGURE, 0, &body);
}

static void was_reset(void)
{
    struct sata_identify body = {IDENTITY};

    if (MAIL(sata_reset_ok)->kind == KIND_DISK) {
        EMIT(SATA_IDENTIFY, 0, &body);
    }
}

static void unplugged(void)
{
    print("BLOCK the disk is gone\n");
    retry_no_more();
    is_stopped = 0;
    disk_goes();
    EMIT(SATA_UNPLUGGED_OK);
}

static void stopped(void)
{
    uint32_t reason = MAIL(sata_frozen)->reason;

    was_alone = slots_sent != 0u && (slots_sent & (slots_sent - 1u)) == 0u;
    if (num_told < STOPS_TOLD) {
        num_told = num_told + 1u;
        print("BLOCK the queue has stopped, reason %u, with %s in it\n", reason,
              was_alone ? "one command" : "several commands or none");
    }
    is_open = 0;
    is_aborting = 0;
    is_stopped = 1;
    EMIT(SATA_RECOVER);
}

static void opened(void)
{
    is_stopped = 0;
    is_aborting = 0;
    is_open = 1;
}

static void driver_changed(void)
{
    retry_no_more();
    is_stopped = 0;
    queue_lose();
}

static void disk_receive(uint32_t mailbox)
{
    switch (mailbox) {
    case DRIVER_UP:
        driver_changed();
        EMIT(SATA_START);
        break;
    case DRIVER_LOST:
        driver_changed();
        print("BLOCK the driver is lost\n");
        break;
    case SATA_START_OK:
        port_slots = MAIL(sata_start_ok)->slots;
        break;
    case SATA_START_FAIL:
        retry_later(START);
        break;
    case SATA_PLUGGED:
        EMIT(SATA_RESET);
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
        is_stopped = 0;
        queue_wreck(was_alone);
        retry_later(RESET);
        break;
    case SATA_RESET_FAIL:
    case SATA_IDENTIFY_FAIL:
    case SATA_CONFIGURE_FAIL:
        retry_later(RESET);
        break;
    case SATA_CONFIGURE_OK:
    case SATA_RECOVERED:
        opened();
        break;
    case SATA_DONE:
        queue_done();
        break;
    case SATA_FAILED:
        queue_failed(is_stopped && was_alone);
        break;
    case SATA_FROZEN:
        stopped();
        break;
    case SATA_FLUSH_OK:
        queue_flushed(1);
        break;
    case SATA_FLUSH_FAIL:
        queue_flushed(0);
        break;
    default:
        break;
    }
}

/* When disk_expire is to be called at the latest. */
static uint64_t disk_deadline(void)
{
    uint64_t next = retry_at < look_at ? retry_at : look_at;

    return queue_is_free() && !is_flushing && flush_at < next ? flush_at : next;
}

static void disk_retry(void)
{
    enum retry what = retry;

    retry_no_more();
    if (what == START) {
        EMIT(SATA_START);
    } else if (what == RESET) {
        EMIT(SATA_RESET);
    }
}

static void disk_expire(void)
{
    uint64_t now = time_now();

    if (now >= retry_at) {
        disk_retry();
    }
    if (now >= look_at) {
        queue_abort_late(now);
    }
}

#endif
