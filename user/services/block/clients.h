/* The clients' side: each sees a disk of its partition's size, by the protocol `sata` with this service in the place of the driver.
 * What a client says is not believed: sectors must lie in its partition, buffers in its own data area. */
#ifndef CLIENTS_H
#define CLIENTS_H

#include "ashlar/print.h"
#include "ashlar/string.h"
#include "block.h"
#include "shares.h"

#define KIND_DISK 1u
#define FLUSH_TRIES 8u
/* Words of an answer to IDENTIFY. */
#define ID_SECTORS_SHORT 60u
#define ID_SECTORS 100u
#define ID_INTEGRITY 255u
#define ID_SHORT_MOST 0x0ffffffful

static void tell(uint32_t number, uint32_t mailbox, uint64_t cookie, const void *payload, uint32_t bytes)
{
    uint32_t at = AT(FIRST_PORT + number, mailbox);
    void *place = domain_emit_begin(at, cookie);

    if (bytes != 0) {
        memcpy(place, payload, bytes);
    }
    domain_emit_end(at, cookie);
}

/* `bytes` of the client's data area, or null: they are not all in it, or the client has gone. */
static uint8_t *area_of(uint32_t number, uint32_t buffer, uint64_t bytes)
{
    uint64_t size = 0;
    uint8_t *data = domain_data(FIRST_PORT + number, &size);

    return data != 0 && bytes <= size && buffer <= size - bytes ? data + buffer : 0;
}

static uint8_t *client_bytes(uint32_t number, const struct command *c)
{
    return area_of(number, c->buffer, (uint64_t)c->count * disk.sector_size);
}

/* ---- commands ---- */

/* What is owed when nothing is under way any more. */
static void settle(uint32_t number)
{
    struct client *c = &client[number];

    if (c->num_under_way != 0 || c->num_waiting != 0) {
        return;
    }
    if (c->owed == RECOVERED) {
        c->owed = NOTHING;
        c->port = ACTIVE;
        tell(number, SATA_RECOVERED, 0, 0, 0);
    } else if (c->owed == STOP_OK) {
        c->owed = NOTHING;
        c->port = STOPPED;
        tell(number, SATA_STOP_OK, 0, 0, 0);
    }
}

/* Answers a command that waits or is under way. `reason` 0: it is done; else `sector` of the partition is where it failed. */
static void client_finish(uint32_t number, uint32_t cookie, uint8_t reason, uint64_t sector)
{
    struct client *c = &client[number];
    const struct sata_failed body = {reason, sector};

    if (c->command[cookie].state == UNDER_WAY) {
        c->num_under_way--;
        c->work_under_way -= c->command[cookie].work;
    }
    c->command[cookie].state = FREE;
    if (reason == 0) {
        tell(number, SATA_DONE, cookie, 0, 0);
    } else {
        tell(number, SATA_FAILED, cookie, &body, sizeof body);
    }
    settle(number);
}

/* The cookie of the oldest command that waits, which does so no more. Requires: there is one. */
static uint32_t take_waiting(struct client *c)
{
    uint32_t cookie = c->order[c->next];

    c->next = (c->next + 1) % NUM_COMMAND;
    c->num_waiting--;
    return cookie;
}

static void fail_waiting(uint32_t number)
{
    struct client *c = &client[number];

    while (c->num_waiting != 0) {
        uint32_t cookie = take_waiting(c);
        client_finish(number, cookie, REASON_DROPPED, c->command[cookie].sector);
    }
}

/* The disk has gone with everything that was asked of it. */
static void forget_commands(struct client *c)
{
    memset(c->command, 0, sizeof c->command);
    c->num_waiting = 0;
    c->num_under_way = 0;
    c->work_under_way = 0;
    c->flush = NO_FLUSH;
    c->is_asleep = 0;
}

static int is_acceptable(uint32_t number, const struct command *c)
{
    const struct client *of = &client[number];
    uint64_t bytes = (uint64_t)c->count * disk.sector_size;

    return c->count != 0 && bytes <= SLOT_BYTES && c->buffer % 2 == 0 && area_of(number, c->buffer, bytes) != 0 &&
           c->sector < of->sectors && c->count <= of->sectors - c->sector;
}

static void open_command(uint32_t number, uint8_t is_write)
{
    struct client *c = &client[number];
    const struct sata_read *body = (const struct sata_read *)domain_current->payload;
    uint32_t cookie = (uint32_t)domain_current->cookie % NUM_COMMAND; /* the monitor lets no other pass */
    struct command *new = &c->command[cookie];

    if (c->port < ACTIVE) {
        return; /* it does not know yet that its disk has gone, or that the link was cut */
    }
    *new = (struct command){WAITING, is_write, 0, body->sector, body->count, body->buffer, 0};
    new->force = is_write && (body->force != 0 || !c->has_cache);
    if (c->port == FROZEN) {
        client_finish(number, cookie, REASON_DROPPED, new->sector);
    } else if (cookie >= c->depth || !is_acceptable(number, new)) {
        client_finish(number, cookie, REASON_REQUEST, new->sector);
    } else {
        new->work = work_of(new->count *disk.sector_size);
        c->order[(c->next + c->num_waiting) % NUM_COMMAND] = (uint8_t)cookie;
        c->num_waiting++;
    }
}

/* ---- flushes ---- */

/* The disk has flushed, or could not. */
static void clients_flushed(uint32_t is_good)
{
    static const struct sata_flush_fail failed;

    for (uint32_t i = 0; i < num_client; i++) {
        struct client *c = &client[i];
        if (c->flush != FLUSH_UNDER_WAY) {
            continue;
        }
        c->flush_tries++;
        if (is_good) {
            c->flush = NO_FLUSH;
            tell(i, SATA_FLUSH_OK, 0, 0, 0);
        } else if (c->flush_tries == FLUSH_TRIES) {
            c->flush = NO_FLUSH;
            tell(i, SATA_FLUSH_FAIL, 0, &failed, sizeof failed);
        } else {
            c->flush = FLUSH_WAITING;
        }
    }
}

/* ---- the partition as a disk ---- */

/* Tells of a disk those that do not know of one, if their part of it is there. */
static void clients_announce(void)
{
    for (uint32_t i = 0; i < num_client; i++) {
        if (disk.is_known && client[i].port == EMPTY && client[i].sectors != 0) {
            client[i].port = UNKNOWN;
            tell(i, SATA_PLUGGED, 0, 0, 0);
        }
    }
}

static void clients_unplug(void)
{
    for (uint32_t i = 0; i < num_client; i++) {
        struct client *c = &client[i];
        if (c->port < UNKNOWN) {
            continue;
        }
        if (c->owed == STOP_OK) { /* the protocol has no disk any more that could go */
            for (uint32_t cookie = 0; cookie < NUM_COMMAND; cookie++) {
                if (c->command[cookie].state == UNDER_WAY) {
                    client_finish(i, cookie, REASON_DROPPED, c->command[cookie].sector);
                }
            }
            continue;
        }
        forget_commands(c);
        c->owed = NOTHING;
        c->port = DETACHED;
        tell(i, SATA_UNPLUGGED, 0, 0, 0);
    }
}

static void put_word(uint8_t *identity, uint32_t word, uint16_t value)
{
    memcpy(identity + 2 * word, &value, sizeof value);
}

static void identify(uint32_t number)
{
    struct client *c = &client[number];
    const struct sata_identify_fail failed = {REASON_REQUEST};
    const struct sata_identify_ok body = {c->sectors, disk.sector_size, (uint8_t)disk.depth};
    uint32_t buffer = ((const struct sata_identify *)domain_current->payload)->buffer;
    uint8_t *to = area_of(number, buffer, IDENTITY_BYTES);
    uint64_t short_form = c->sectors < ID_SHORT_MOST ? c->sectors : ID_SHORT_MOST;
    uint8_t identity[IDENTITY_BYTES];

    if (to == 0 || buffer % 2 != 0) {
        c->port = UNKNOWN;
        tell(number, SATA_IDENTIFY_FAIL, 0, &failed, sizeof failed);
        return;
    }
    memcpy(identity, disk.identity, sizeof identity);
    put_word(identity, ID_SECTORS_SHORT, (uint16_t)short_form);
    put_word(identity, ID_SECTORS_SHORT + 1, (uint16_t)(short_form >> 16));
    for (uint32_t i = 0; i < 4; i++) {
        put_word(identity, ID_SECTORS + i, (uint16_t)(c->sectors >> 16 * i));
    }
    put_word(identity, ID_INTEGRITY, 0); /* there is no sum of bytes: it would be the whole disk's */
    memcpy(to, identity, sizeof identity);
    c->port = IDENTIFIED;
    tell(number, SATA_IDENTIFY_OK, 0, &body, sizeof body);
}

static void configure(uint32_t number)
{
    const struct sata_configure *body = (const struct sata_configure *)domain_current->payload;
    struct client *c = &client[number];

    c->depth = body->depth < disk.depth ? body->depth : disk.depth;
    c->has_cache = body->write_cache;
    c->is_asleep = 0;
    c->port = ACTIVE;
    tell(number, SATA_CONFIGURE_OK, 0, 0, 0);
}

static void start(uint32_t number)
{
    static const struct sata_start_ok body = {.slots = NUM_COMMAND};

    forget_commands(&client[number]);
    client[number].port = EMPTY;
    tell(number, SATA_START_OK, 0, &body, sizeof body);
    clients_announce();
}

/* What waits is not begun any more; what is under way has to come to its end. */
static void stop(uint32_t number)
{
    client[number].owed = STOP_OK;
    fail_waiting(number);
    settle(number);
}

static void abort_command(uint32_t number)
{
    static const struct sata_frozen body = {REASON_DROPPED};

    if (client[number].port == ACTIVE) {
        client[number].port = FROZEN;
        tell(number, SATA_FROZEN, 0, &body, sizeof body);
    }
}

static void recover(uint32_t number)
{
    client[number].owed = RECOVERED;
    fail_waiting(number);
    settle(number);
}

/* ---- messages ---- */

/* What only a client with a disk is answered. */
static void receive_of_disk(uint32_t number, uint32_t mailbox)
{
    static const struct sata_reset_ok reset_ok = {KIND_DISK};
    struct client *c = &client[number];

    switch (mailbox) {
    case SATA_RESET:
        c->port = REACHED;
        tell(number, SATA_RESET_OK, 0, &reset_ok, sizeof reset_ok);
        break;
    case SATA_IDENTIFY:
        identify(number);
        break;
    case SATA_CONFIGURE:
        configure(number);
        break;
    case SATA_READ:
    case SATA_WRITE:
        open_command(number, mailbox == SATA_WRITE);
        break;
    case SATA_ABORT:
        abort_command(number);
        break;
    case SATA_RECOVER:
        recover(number);
        break;
    case SATA_FLUSH:
        c->flush = FLUSH_WAITING;
        c->flush_tries = 0;
        break;
    case SATA_STANDBY: /* the disk is others' too, and goes on */
        c->is_asleep = 1;
        tell(number, SATA_STANDBY_OK, 0, 0, 0);
        break;
    case SATA_WAKE:
        c->is_asleep = 0;
        tell(number, SATA_WAKE_OK, 0, 0, 0);
        break;
    default:
        break;
    }
}

static void client_receive(uint32_t number, uint32_t mailbox)
{
    switch (mailbox) {
    case SATA_START:
        start(number);
        break;
    case SATA_STOP:
        stop(number);
        break;
    case SATA_UNPLUGGED_OK:
        client[number].port = EMPTY;
        clients_announce();
        break;
    default:
        if (client[number].port >= UNKNOWN) {
            receive_of_disk(number, mailbox);
        }
        break;
    }
}

#endif
