/* A client of `sata` that waits: one request at a time, and all that brings the disk up in between. */
#include "ashlar/disk.h"
#include "ashlar/domain.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"
#include "sata_protocol.h"

#define PORT SATA_NUMBER
#define RING_CAPACITY 64u
#define PAGE 4096u
#define IDENTITY DISK_TRANSFER /* where the disk's answer to IDENTIFY goes, behind the buffer */
#define DATA_PAGES (IDENTITY / PAGE + 1u)
#define NAME_BYTES 32u
#define REASON_DROPPED 4u
#define PAUSE 10000000ul      /* ns: before what has failed is tried again */
#define TIMEOUT 20000000000ul /* ns: until the request is aborted */
#define FLUSH_TRIES 8u

/* What became of the request. */
enum answer { NONE, GOOD, BAD, LOST };

static uint64_t sectors;
static uint32_t sector_size;
static uint8_t *data;
static int is_active;
static enum answer answer;
static int is_asked; /* the request was sent and is not answered */

static void emit(uint32_t mailbox, const void *payload, uint32_t bytes)
{
    void *place = domain_emit_begin(mailbox, 0);

    if (bytes != 0) {
        memcpy(place, payload, bytes);
    }
    domain_emit_end(mailbox, 0);
}

static void say(uint32_t mailbox)
{
    emit(mailbox, 0, 0);
}

static void say_later(uint32_t mailbox)
{
    sys_sleep(sys_clock() + PAUSE);
    say(mailbox);
}

/* The request is to be sent again. */
static void lose(void)
{
    is_active = 0;
    answer = is_asked ? LOST : answer;
    is_asked = 0;
}

static void answered(enum answer how)
{
    answer = is_asked ? how : answer;
    is_asked = 0;
}

static void receive_link(uint32_t mailbox)
{
    uint64_t bytes = 0;

    lose();
    data = domain_data(PORT, &bytes);
    if (mailbox == AT(PORT, MAIL_LINK_UP)) {
        say(SATA_START);
    }
}

static void identified(void)
{
    const struct sata_identify_ok *disk = (const struct sata_identify_ok *)domain_current->payload;
    static const struct sata_configure body = {.depth = 1, .write_cache = 1};

    sectors = disk->sectors;
    sector_size = disk->sector_size;
    emit(SATA_CONFIGURE, &body, sizeof body);
}

static void failed(void)
{
    const struct sata_failed *body = (const struct sata_failed *)domain_current->payload;

    answered(body->reason == REASON_DROPPED ? LOST : BAD);
}

static void receive(uint32_t mailbox)
{
    static const struct sata_identify identify = {IDENTITY};

    switch (mailbox) {
    case AT(PORT, MAIL_LINK_UP):
    case AT(PORT, MAIL_LINK_LOST):
        receive_link(mailbox);
        break;
    case SATA_START_FAIL:
        say_later(SATA_START);
        break;
    case SATA_PLUGGED:
        say(SATA_RESET);
        break;
    case SATA_UNPLUGGED: /* what was meant for this disk must not reach another one */
        answered(BAD);
        is_active = 0;
        say(SATA_UNPLUGGED_OK);
        break;
    case SATA_RESET_OK:
        emit(SATA_IDENTIFY, &identify, sizeof identify);
        break;
    case SATA_IDENTIFY_OK:
        identified();
        break;
    case SATA_RECOVER_FAIL:
        lose();
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
    case SATA_FROZEN:
        is_active = 0;
        say(SATA_RECOVER);
        break;
    case SATA_DONE:
    case SATA_FLUSH_OK:
        answered(GOOD);
        break;
    case SATA_FAILED:
        failed();
        break;
    case SATA_FLUSH_FAIL:
        answered(BAD);
        break;
    default: /* nothing else was asked for */
        break;
    }
}

/* Takes a message; without one for too long, the request is given up for the disk to begin anew. */
static void step(void)
{
    struct mail_set set = {{0}};

    set.mask[PORT] = ~0ul;
    uint32_t mailbox = domain_await(&set, is_asked ? sys_clock() + TIMEOUT : DEADLINE_NEVER);
    if (mailbox != DOMAIN_TIMEOUT) {
        receive(mailbox);
    } else if (is_active) {
        say(SATA_ABORT);
    }
}

/* Sends the request until it is answered. Returns 1 if it was done. A write is copied in anew each time: the memory is shared. */
static int ask(uint32_t mailbox, const void *body, uint32_t bytes, const void *from, uint32_t length)
{
    do {
        while (!is_active) {
            step();
        }
        if (from != 0) {
            memcpy(data, from, length);
        }
        is_asked = 1;
        answer = NONE;
        emit(mailbox, body, bytes);
        while (answer == NONE) {
            step();
        }
    } while (answer == LOST);
    return answer == GOOD;
}

void disk_open(void)
{
    char driver[NAME_BYTES];

    if (env_arg("disk", driver, sizeof driver) < 0) {
        panic("the description gives this process no disk: `disk`\n");
    }
    domain_start();
    domain_connect(PORT, driver, &sata_protocol, RING_CAPACITY, DATA_PAGES);
    while (!is_active) {
        step();
    }
}

uint64_t disk_sectors(void)
{
    return sectors;
}

uint32_t disk_sector_size(void)
{
    return sector_size;
}

static int is_possible(uint64_t sector, uint32_t count)
{
    return count != 0 && count <= DISK_TRANSFER / sector_size && sector < sectors && count <= sectors - sector;
}

int disk_read(uint64_t sector, uint32_t count, void *to)
{
    struct sata_read body = {.sector = sector, .count = count, .buffer = 0};

    if (!is_possible(sector, count) || !ask(SATA_READ, &body, sizeof body, 0, 0)) {
        return 0;
    }
    memcpy(to, data, count * sector_size);
    return 1;
}

int disk_write(uint64_t sector, uint32_t count, const void *from, int force)
{
    struct sata_write body = {.sector = sector, .count = count, .buffer = 0, .force = force != 0};

    return is_possible(sector, count) && ask(SATA_WRITE, &body, sizeof body, from, count * sector_size);
}

int disk_flush(void)
{
    for (uint32_t tries = 0; tries < FLUSH_TRIES; tries++) {
        if (ask(SATA_FLUSH, 0, 0, 0, 0)) {
            return 1;
        }
    }
    return 0;
}
