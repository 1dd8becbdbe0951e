/* The clients' side: each sees a disk of its partition's size, by the protocol `sata` with this service in the place of the driver.
 * What a client says is not believed: sectors must lie in its partition, buffers in its own data area.
 *
 * Functions are about the client whose turn it is, but for those that begin with `clients_`. */
#ifndef BLOCK_CLIENT_H
#define BLOCK_CLIENT_H

#include "ashlar/print.h"
#include "block.h"
#include "patience.h"
#include "shares.h"

#define KIND_DISK 1u
#define FLUSH_TRIES 8u
/* Words of an answer to IDENTIFY. */
#define ID_SECTORS_SHORT 60u
#define ID_SECTORS 100u
#define ID_INTEGRITY 255u
#define ID_SHORT_MOST 0x0ffffffful

static inline uint64_t bytes_of(uint32_t count)
{
    return (uint64_t)count << disk.shift % 64u;
}

/* ---- commands ---- */

/* Ends a command, if it is open and its client can be told: the only place where one is ended by itself. Returns 0 if there is nothing
 * to answer: the client was told before what became of it. */
static uint32_t take(uint32_t cookie)
{
    struct client *c = &client[CLIENT()];
    uint32_t bit = bit_of(cookie);

    if (cookie >= COMMANDS || (c->open >> cookie & 1u) == 0u || c->port < ACTIVE || c->port == WRECKED) {
        return 0;
    }
    if ((c->under_way >> cookie & 1u) != 0u) {
        c->num_under_way = c->num_under_way - 1u;
        c->work_under_way = c->work_under_way - c->command[cookie % COMMANDS].work;
    }
    c->open = c->open & ~bit;
    c->under_way = c->under_way & ~bit;
    return 1;
}

/* Answers what waits for the end of all commands, if that has come; else the client has to wait. */
static void settle(void)
{
    struct client *c = &client[CLIENT()];

    if (c->port != RECOVERING && c->port != STOPPING) {
        return;
    }
    if (c->open != 0u) {
        patience_begin();
    } else if (c->port == RECOVERING) {
        c->port = ACTIVE;
        EMIT(SATA_RECOVERED);
    } else {
        c->port = STOPPED;
        EMIT(SATA_STOP_OK);
    }
}

static void client_done(uint32_t cookie)
{
    if (take(cookie)) {
        EMIT(SATA_DONE, cookie);
        settle();
    }
}

/* `sector` of the partition is where it failed. */
static void client_failed(uint32_t cookie, uint8_t reason, uint64_t sector)
{
    struct sata_failed body = {reason, sector};

    if (take(cookie)) {
        EMIT(SATA_FAILED, cookie, &body);
        settle();
    }
}

/* Fails a command that is not among the open ones. */
static void refuse(uint32_t cookie, uint8_t reason, uint64_t sector)
{
    struct sata_failed body = {reason, sector};

    EMIT(SATA_FAILED, cookie, &body);
}

/* Fails commands that have not begun. */
static void fail_waiting(void)
{
    for (uint32_t left = waiting_of(&client[CLIENT()]); left != 0u; left = left & (left - 1u)) {
        uint32_t cookie = lowest_of(left);
        struct sata_failed body = {REASON_DROPPED, client[CLIENT()].command[cookie % COMMANDS].sector};
        if (take(cookie)) {
            EMIT(SATA_FAILED, cookie, &body);
        }
    }
}

/* The client is told nothing more of them. */
static void forget_commands(void)
{
    struct client *c = &client[CLIENT()];

    c->open = 0;
    c->under_way = 0;
    c->num_under_way = 0;
    c->work_under_way = 0;
    c->is_flushing = 0;
}

static uint32_t is_acceptable(const struct client *c, const struct sata_read *body)
{
    uint64_t area = area_size(CLIENT()), bytes = bytes_of(body->count);

    return bytes <= SLOT_BYTES && body->buffer % 2u == 0u && bytes <= area && body->buffer <= area - bytes &&
           body->sector < c->sectors && body->count <= c->sectors - body->sector;
}

/* Where the disk has gone or is wrecked a command waits until the client knows. */
static void client_command(uint32_t is_write)
{
    struct client *c = &client[CLIENT()];
    const struct sata_read *body = MAIL(sata_read);
    uint32_t cookie = (uint32_t)COOKIE();
    uint32_t bit = bit_of(cookie);
    struct command *command = &c->command[cookie % COMMANDS];

    if (c->port == FROZEN) {
        refuse(cookie, REASON_DROPPED, body->sector);
    } else if (c->port == ACTIVE && (cookie >= c->depth || !is_acceptable(c, body))) {
        refuse(cookie, REASON_REQUEST, body->sector);
    } else {
        command->sector = body->sector;
        command->count = body->count;
        command->buffer = body->buffer;
        command->is_write = is_write;
        command->force = is_write && (body->force != 0u || !c->has_cache);
        command->work = work_of((uint32_t)bytes_of(body->count));
        c->open = c->open | bit;
    }
}

/* ---- what it waits for ---- */

static void client_abort(void)
{
    struct sata_frozen body = {REASON_DROPPED};
    struct client *c = &client[CLIENT()];

    if (c->port == ACTIVE) {
        c->port = FROZEN;
        EMIT(SATA_FROZEN, 0, &body);
    }
}

static void client_recover(void)
{
    struct client *c = &client[CLIENT()];

    c->port = RECOVERING;
    c->queue_is_late = 0;
    fail_waiting();
    settle();
}

/* What waits is not begun any more; what is under way has to come to its end. */
static void client_stop(void)
{
    struct client *c = &client[CLIENT()];

    c->port = STOPPING;
    c->is_flushing = 0;
    c->queue_is_late = 0;
    fail_waiting();
    settle();
}

static void client_flush(void)
{
    struct client *c = &client[CLIENT()];

    if (c->port == WRECKED) {
        return;
    }
    c->is_flushing = 1;
    c->flush_round = flush_round + 1u;
    c->flush_tries = 0;
    c->flush_is_late = 0;
    patience_begin();
}

static void flush_failed(void)
{
    struct sata_flush_fail body = {0};

    client[CLIENT()].is_flushing = 0;
    EMIT(SATA_FLUSH_FAIL, 0, &body);
}

/* A round of the disk has come to its end. */
static void client_flushed(uint32_t is_good)
{
    struct client *c = &client[CLIENT()];

    if (!c->is_flushing || c->flush_round > flush_round) {
        return;
    }
    c->flush_tries = c->flush_tries + 1u;
    c->flush_round = flush_round + 1u;
    if (is_good) {
        c->is_flushing = 0;
        EMIT(SATA_FLUSH_OK);
    } else if (c->flush_tries >= FLUSH_TRIES) {
        flush_failed();
    }
}

static void clients_flushed(uint32_t is_good)
{
    for (uint32_t i = 0; i < CLIENTS; i = i + 1u) {
        TURN_TO(i);
        client_flushed(is_good);
    }
}

/* All commands fail, without an answer of the disk. */
static void fail_open(void)
{
    uint32_t left = client[CLIENT()].open;

    forget_commands();
    for (; left != 0u; left = left & (left - 1u)) {
        uint32_t cookie = lowest_of(left);
        refuse(cookie, REASON_HARDWARE, client[CLIENT()].command[cookie % COMMANDS].sector);
    }
}

/* The driver still has commands of it, which it has to end before the client may send others: a write that comes late would
 * overwrite what was written after it. */
static void wreck(void)
{
    forget_commands();
    client[CLIENT()].port = WRECKED;
    EMIT(SATA_RECOVER_FAIL);
}

/* A tick has come (patience.h). */
static void client_tick(void)
{
    struct client *c = &client[CLIENT()];

    if (c->is_flushing && c->flush_is_late) {
        flush_failed();
    }
    if (c->port == RECOVERING && c->queue_is_late) {
        wreck();
    }
    if (c->port == STOPPING && c->queue_is_late) {
        fail_open();
        settle();
    }
    c->flush_is_late = 1;
    c->queue_is_late = 1;
    if (c->is_flushing || c->port == RECOVERING || c->port == STOPPING) {
        patience_begin();
    }
}

static void clients_tick(void)
{
    is_ticking = 0;
    for (uint32_t i = 0; i < CLIENTS; i = i + 1u) {
        TURN_TO(i);
        client_tick();
    }
}

/* ---- the partition as a disk ---- */

/* Tells a client that does not know of a disk, if its part of it is there. */
static void announce(void)
{
    struct client *c = &client[CLIENT()];

    if (disk.is_known && c->port == EMPTY && c->sectors != 0u) {
        c->port = UNKNOWN;
        EMIT(SATA_PLUGGED);
    }
}

/* The disk has gone with everything that was asked of it. */
static void unplug(void)
{
    struct client *c = &client[CLIENT()];

    if (c->port == STOPPING) { /* the protocol has no disk any more that could go */
        fail_open();
        settle();
    } else if (c->port >= UNKNOWN) {
        forget_commands();
        c->port = DETACHED;
        EMIT(SATA_UNPLUGGED);
    }
}

static void client_start(void)
{
    struct sata_start_ok body = {COMMANDS, 0};

    forget_commands();
    client[CLIENT()].port = EMPTY;
    EMIT(SATA_START_OK, 0, &body);
    announce();
}

/* Whether a slot still has a command of this client. */
static uint32_t has_slot(uint32_t number)
{
    for (uint32_t left = slots_used; left != 0u; left = left & (left - 1u)) {
        if (slot[lowest_of(left)].client == number) {
            return 1;
        }
    }
    return 0;
}

static void client_reset(void)
{
    struct sata_reset_ok body = {KIND_DISK};
    struct sata_reset_fail failed = {REASON_HARDWARE};
    struct client *c = &client[CLIENT()];

    forget_commands();
    if (has_slot(CLIENT())) {
        c->port = UNKNOWN;
        EMIT(SATA_RESET_FAIL, 0, &failed);
    } else {
        c->port = REACHED;
        EMIT(SATA_RESET_OK, 0, &body);
    }
}

/* Puts the disk's answer to IDENTIFY into the client's memory, with the partition's size. There is no sum of bytes: it would be that of
 * the whole disk's. Returns 0 if the client has no such memory. */
static uint32_t put_identity(uint32_t buffer)
{
    const struct client *c = &client[CLIENT()];
    uint64_t sectors = c->sectors;
    uint32_t in_short = (uint32_t)(c->sectors < ID_SHORT_MOST ? c->sectors : ID_SHORT_MOST);
    uint32_t is_put = buffer % 2u == 0u;

    is_put = is_put & area_write(CLIENT(), buffer, disk_identity, IDENTITY_BYTES);
    is_put = is_put & area_write(CLIENT(), (uint64_t)buffer + 2u * ID_SECTORS_SHORT, &in_short, sizeof in_short);
    is_put = is_put & area_write(CLIENT(), (uint64_t)buffer + 2u * ID_SECTORS, &sectors, sizeof sectors);
    is_put = is_put & area_clear(CLIENT(), (uint64_t)buffer + 2u * ID_INTEGRITY, 2);
    return is_put;
}

static void client_identify(void)
{
    struct client *c = &client[CLIENT()];
    struct sata_identify_fail failed = {REASON_REQUEST};
    struct sata_identify_ok body = {c->sectors, disk.sector_size, (uint8_t)disk.depth};

    if (put_identity(MAIL(sata_identify)->buffer)) {
        c->port = IDENTIFIED;
        EMIT(SATA_IDENTIFY_OK, 0, &body);
    } else {
        c->port = UNKNOWN;
        EMIT(SATA_IDENTIFY_FAIL, 0, &failed);
    }
}

static void client_configure(void)
{
    const struct sata_configure *body = MAIL(sata_configure);
    struct client *c = &client[CLIENT()];

    c->depth = body->depth < disk.depth ? body->depth : disk.depth;
    c->has_cache = body->write_cache;
    c->is_asleep = 0;
    c->port = ACTIVE;
    EMIT(SATA_CONFIGURE_OK);
}

/* The disk is others', too, and goes on. */
static void client_sleep(uint32_t is_asleep)
{
    struct client *c = &client[CLIENT()];

    if (c->port == WRECKED) {
        return;
    }
    c->is_asleep = is_asleep;
    if (is_asleep) {
        EMIT(SATA_STANDBY_OK);
    } else {
        EMIT(SATA_WAKE_OK);
    }
}

/* ---- messages ---- */

/* What only a client with a disk is answered. */
static void receive_of_disk(uint32_t mailbox)
{
    switch (mailbox) {
    case SATA_RESET:
        client_reset();
        break;
    case SATA_IDENTIFY:
        client_identify();
        break;
    case SATA_CONFIGURE:
        client_configure();
        break;
    case SATA_READ:
        client_command(0);
        break;
    case SATA_WRITE:
        client_command(1);
        break;
    case SATA_ABORT:
        client_abort();
        break;
    case SATA_RECOVER:
        client_recover();
        break;
    case SATA_FLUSH:
        client_flush();
        break;
    case SATA_STANDBY:
        client_sleep(1);
        break;
    case SATA_WAKE:
        client_sleep(0);
        break;
    default:
        break;
    }
}

static void client_receive(uint32_t mailbox)
{
    switch (mailbox) {
    case SATA_START:
        client_start();
        break;
    case SATA_STOP:
        client_stop();
        break;
    case SATA_UNPLUGGED_OK:
        forget_commands();
        client[CLIENT()].port = EMPTY;
        announce();
        break;
    default:
        if (client[CLIENT()].port >= UNKNOWN) {
            receive_of_disk(mailbox);
        }
        break;
    }
}

#endif
