/* The disk's side: this service is the one client of the driver. The link comes up, the port is started, the disk is reset,
 * identified and configured; then it is open. What fails on the way is tried again after a pause, without making any client wait. */
#ifndef DISK_H
#define DISK_H

#include "ashlar/print.h"
#include "queue.h"

#define PORT SATA_NUMBER
#define RING_CAPACITY 128u
#define PAGE 4096u
#define IDENTITY DATA_BYTES /* where the disk's answer to IDENTIFY goes, behind the slots' buffers */
#define DATA_PAGES (IDENTITY / PAGE + 1u)
#define IDENTITY_SERIAL 20u /* bytes before it */
#define SERIAL_BYTES 20u
#define STOPS_TOLD 16u         /* a client with bad sectors must not fill the console */
#define RETRY_AFTER 10000000ul /* ns */

static uint32_t port_slots; /* that the adapter has */
static uint8_t is_stopped;  /* the queue, by an error or an abort */
static uint8_t was_alone;   /* ... with one command in it */
static uint32_t retry;      /* message to send at `retry_at` */
static uint64_t retry_at = DEADLINE_NEVER;

static void say(uint32_t mailbox)
{
    ask(mailbox, 0, 0, 0);
}

static void say_later(uint32_t mailbox)
{
    retry = mailbox;
    retry_at = sys_clock() + RETRY_AFTER;
}

/* By its serial number: other words tell of how it was set up. */
static int is_same(const struct disk *now)
{
    return now->is_known == disk.is_known && now->sectors == disk.sectors && now->sector_size == disk.sector_size &&
           now->depth == disk.depth &&
           memcmp(now->identity + IDENTITY_SERIAL, disk.identity + IDENTITY_SERIAL, SERIAL_BYTES) == 0;
}

/* The disk is this one. What was asked of another one before is not asked of it. */
static void become(const struct disk *now)
{
    if (is_same(now)) {
        return;
    }
    queue_forget();
    clients_unplug();
    disk = *now;
    for (uint32_t i = 0; i < num_client; i++) {
        struct client *c = &client[i];
        uint64_t unit = disk.sector_size;
        c->places = share_places(disk.depth, c->weight, weights);
        c->work_most = share_work(disk.depth, c->weight, weights);
        c->sectors = 0;
        if (disk.is_known && c->at % unit == 0 && c->size % unit == 0 && c->at / unit <= disk.sectors &&
            c->size / unit <= disk.sectors - c->at / unit) {
            c->first = c->at / unit;
            c->sectors = c->size / unit;
        } else if (disk.is_known) {
            print("BLOCK a disk of %lu sectors of %u bytes has no place for the part of %s\n", disk.sectors,
                  disk.sector_size, c->name);
        }
    }
    clients_announce();
}

static void identified(void)
{
    const struct sata_identify_ok *answer = (const struct sata_identify_ok *)domain_current->payload;
    static struct disk now;
    struct sata_configure body = {answer->depth, 1};
    uint32_t is_new = !disk.is_known;

    now = (struct disk){.is_known = 1, .sector_size = answer->sector_size, .sectors = answer->sectors};
    if (now.sector_size < 512 || SLOT_BYTES % now.sector_size != 0) {
        return; /* no disk that a client could use */
    }
    now.depth = answer->depth < port_slots ? answer->depth : port_slots;
    now.depth = now.depth < NUM_SLOT ? now.depth : NUM_SLOT;
    memcpy(now.identity, data + IDENTITY, sizeof now.identity);
    become(&now);
    if (is_new) {
        print("BLOCK up, %lu sectors of %u bytes for %u clients, %u commands at a time\n", disk.sectors,
              disk.sector_size, num_client, disk.depth);
    }
    ask(SATA_CONFIGURE, 0, &body, sizeof body);
}

static void was_reset(void)
{
    static const struct sata_identify body = {IDENTITY};

    if (((const struct sata_reset_ok *)domain_current->payload)->kind == KIND_DISK) {
        ask(SATA_IDENTIFY, 0, &body, sizeof body);
    }
}

static void unplugged(void)
{
    static const struct disk nothing;

    print("BLOCK the disk is gone\n");
    retry_at = DEADLINE_NEVER;
    is_stopped = 0;
    become(&nothing);
    say(SATA_UNPLUGGED_OK);
}

static void stopped(void)
{
    static uint32_t num_told;
    uint32_t reason = ((const struct sata_frozen *)domain_current->payload)->reason;

    was_alone = num_sent() == 1;
    if (num_told < STOPS_TOLD) {
        num_told++;
        print("BLOCK the queue has stopped, reason %u, with %u commands in it\n", reason, num_sent());
    }
    is_open = 0;
    is_aborting = 0;
    is_stopped = 1;
    say(SATA_RECOVER);
}

static void opened(void)
{
    is_stopped = 0;
    is_open = 1;
}

static void receive_link(uint32_t mailbox)
{
    uint64_t bytes = 0;

    retry_at = DEADLINE_NEVER;
    is_stopped = 0;
    queue_lose();
    data = domain_data(PORT, &bytes);
    if (mailbox == AT(PORT, MAIL_LINK_UP)) {
        say(SATA_START);
    } else {
        print("BLOCK the driver is lost\n");
    }
}

static void disk_receive(uint32_t mailbox)
{
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
        is_stopped = 0;
        queue_wreck(was_alone);
        say_later(SATA_RESET);
        break;
    case SATA_RESET_FAIL:
    case SATA_IDENTIFY_FAIL:
    case SATA_CONFIGURE_FAIL:
        say_later(SATA_RESET);
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
    default: /* nothing else was asked for */
        break;
    }
}

static uint64_t disk_deadline(void)
{
    uint64_t next = retry_at < look_at ? retry_at : look_at;
    uint64_t flush_at = flush_deadline();

    return flush_at < next ? flush_at : next;
}

static void disk_expire(uint64_t now)
{
    if (now >= retry_at) {
        retry_at = DEADLINE_NEVER;
        say(retry);
    }
    if (now >= look_at) {
        queue_abort_late(now);
    }
}

#endif
