/* The disk's queue and who may use it. Clients take turns, a command each, and none has more than its share under way (shares.h), so
 * one that floods waits for itself. Once the queue has stopped without telling which command was at fault, those that were under way
 * are tried alone, one after the other, so that the error is that client's whose command it is. */
#ifndef BLOCK_QUEUE_H
#define BLOCK_QUEUE_H

#include "block.h"
#include "client.h"
#include "shares.h"

#define TRIES 4u              /* of a command that stops the queue when it is alone in it */
#define TIMEOUT 10000000000ul /* ns: until a command is aborted */
#define NEVER (~0ul)

static uint32_t is_open;         /* the disk takes commands */
static uint32_t is_aborting;     /* ... and was told to stop */
static uint32_t is_flushing;     /* it was asked for a flush and has not answered */
static uint64_t flush_began;     /* when, ns since boot */
static uint64_t flush_at;        /* a flush that waits for what its client owes to others may begin then */
static uint32_t turn;            /* the client that is looked at first */
static uint64_t look_at = NEVER; /* whether a command takes too long */

static void slot_free(uint32_t index)
{
    uint32_t bit = bit_of(index);

    slots_used = slots_used & ~bit;
    slots_sent = slots_sent & ~bit;
    slots_suspect = slots_suspect & ~bit;
}

/* The cookie of the client's command in a slot; COMMANDS if it waits for none there any more. */
static uint32_t cookie_of(uint32_t index)
{
    const struct client *c = &client[CLIENT()];

    for (uint32_t left = c->under_way; left != 0u; left = left & (left - 1u)) {
        if (c->command[lowest_of(left) % COMMANDS].slot == index) {
            return lowest_of(left);
        }
    }
    return COMMANDS;
}

/* Gives the driver a command, the first time or again, unless the client waits for it no more. What is to be written is copied each
 * time: setting the link up for a new driver leaves marks in the data area. Requires: the slot is used, and not sent. */
static void send(uint32_t index)
{
    struct slot *s = &slot[index % SLOTS];

    TURN_TO(s->client);
    uint32_t cookie = cookie_of(index);
    const struct client *c = &client[CLIENT()];
    const struct command *command = &c->command[cookie % COMMANDS];
    uint32_t bit = bit_of(index), count = command->count, is_write = command->is_write;
    struct sata_read read = {c->first + command->sector, count, index * SLOT_BYTES, 0};
    struct sata_write write = {c->first + command->sector, count, index * SLOT_BYTES, command->force != 0u};
    if (cookie >= COMMANDS) {
        slot_free(index);
    } else if (count == 0u || count > SLOT_BYTES / SECTOR_LEAST ||
               (is_write && !area_copy(DISK_AREA, index * SLOT_BYTES, CLIENT(), command->buffer, bytes_of(count)))) {
        slot_free(index); /* the client has gone */
        client_failed(cookie, REASON_DROPPED, command->sector);
    } else {
        s->sent = time_now();
        look_at = look_at == NEVER ? s->sent + TIMEOUT : look_at;
        slots_sent = slots_sent | bit;
        if (is_write) {
            EMIT(SATA_WRITE, index, &write);
        } else {
            EMIT(SATA_READ, index, &read);
        }
    }
}

/* ---- turns ---- */

/* Do others want anything of the disk? */
static uint32_t has_rivals(uint32_t number)
{
    for (uint32_t i = 0; i < CLIENTS; i = i + 1u) {
        const struct client *c = &client[i];
        if (i != number && (c->open != 0u || c->is_flushing)) {
            return 1;
        }
    }
    return 0;
}

/* A flush has taken others' time, and the client has not waited as long as they are to have for it: no further one, and a command at a
 * time. */
static uint32_t is_in_debt(uint32_t number)
{
    return client[number].flush_after != 0u && has_rivals(number);
}

static void forgive_debts(void)
{
    uint64_t now = time_now();

    for (uint32_t i = 0; i < CLIENTS; i = i + 1u) {
        if (now >= client[i].flush_after) {
            client[i].flush_after = 0;
        }
    }
}

/* The cookie of the command whose turn it is. Requires: one waits. */
static uint32_t next_waiting(const struct client *c)
{
    uint32_t waiting = waiting_of(c);
    uint32_t later = waiting & ~0u << (c->next % COMMANDS);

    return lowest_of(later != 0u ? later : waiting);
}

static uint32_t has_share_left(uint32_t number)
{
    const struct client *c = &client[number];
    uint32_t most = is_in_debt(number) ? 0u : c->work_most;

    return c->num_under_way < c->places &&
           share_admits(most, c->work_under_way, c->command[next_waiting(c) % COMMANDS].work);
}

static uint32_t may_begin(uint32_t number)
{
    const struct client *c = &client[number];

    return c->port == ACTIVE && !c->is_asleep && waiting_of(c) != 0u && has_share_left(number);
}

/* The client whose turn it is, or CLIENTS: none has anything to begin. */
static uint32_t next_client(void)
{
    for (uint32_t i = 0; i < CLIENTS; i = i + 1u) {
        if (may_begin((turn + i) % CLIENTS)) {
            return (turn + i) % CLIENTS;
        }
    }
    return CLIENTS;
}

/* Puts the client's command whose turn it is into a free slot. */
static void begin(uint32_t index, uint32_t number)
{
    TURN_TO(number);
    struct client *c = &client[CLIENT()];
    uint32_t cookie = next_waiting(c);
    uint32_t bit = bit_of(cookie), slot_bit = bit_of(index);

    c->next = cookie + 1u;
    c->under_way = c->under_way | bit;
    c->num_under_way = c->num_under_way + 1u;
    c->work_under_way = c->work_under_way + c->command[cookie % COMMANDS].work;
    c->command[cookie % COMMANDS].slot = index;
    slot[index % SLOTS].client = number;
    slot[index % SLOTS].tries = 0;
    slots_used = slots_used | slot_bit;
    send(index);
}

static void begin_waiting(void)
{
    for (uint32_t left = slots_of_disk & ~slots_used; left != 0u; left = left & (left - 1u)) {
        uint32_t number = next_client();
        if (number == CLIENTS) {
            return;
        }
        turn = (number + 1u) % CLIENTS;
        begin(lowest_of(left), number);
    }
}

/* Sends again what the driver has forgotten or dropped, as far as that may be under way now. */
static void send_again(void)
{
    for (uint32_t left = slots_used & ~slots_sent; left != 0u; left = left & (left - 1u)) {
        uint32_t index = lowest_of(left);
        uint32_t is_suspect = (slots_suspect & bit_of(index)) != 0u;
        if (slots_suspect == 0u || (is_suspect && slots_sent == 0u)) {
            send(index);
        }
    }
}

/* Whether it has asked for a flush that has not begun. */
static uint32_t waits_for_flush(uint32_t number)
{
    return client[number].is_flushing && client[number].flush_round > flush_round;
}

/* One flush at a time: it covers all that was done when it is asked for, so a client that asks meanwhile waits for the next round. Once
 * one may begin, all take part that wait for one. */
static void flush(void)
{
    uint32_t is_wanted = 0;

    flush_at = NEVER;
    for (uint32_t i = 0; i < CLIENTS; i = i + 1u) {
        uint64_t at = waits_for_flush(i) ? client[i].flush_after : NEVER;
        flush_at = at < flush_at ? at : flush_at;
        is_wanted = is_wanted | (waits_for_flush(i) && !is_in_debt(i));
    }
    if (is_wanted && !is_flushing) {
        flush_round = flush_round + 1u;
        is_flushing = 1;
        flush_began = time_now();
        EMIT(SATA_FLUSH);
    }
}

/* Whether the disk may be given commands of any client. */
static uint32_t queue_is_free(void)
{
    return is_open && slots_suspect == 0u;
}

/* Gives the disk what waits. */
static void queue_go_on(void)
{
    if (is_open) {
        send_again();
    }
    if (queue_is_free()) {
        forgive_debts();
        begin_waiting();
        flush();
    }
}

/* ---- answers ---- */

/* Whether the driver's message is about a command that it has. */
static uint32_t is_of_slot(void)
{
    uint64_t index = COOKIE();

    return index < SLOTS && (slots_sent >> index & 1u) != 0u;
}

static void queue_done(void)
{
    uint32_t index = (uint32_t)COOKIE();

    if (!is_of_slot()) {
        return;
    }
    TURN_TO(slot[index % SLOTS].client);
    uint32_t cookie = cookie_of(index);
    const struct command *command = &client[CLIENT()].command[cookie % COMMANDS];
    if (cookie < COMMANDS && !command->is_write) {
        area_copy(CLIENT(), command->buffer, DISK_AREA, index * SLOT_BYTES, bytes_of(command->count));
    }
    slot_free(index);
    client_done(cookie);
}

/* Where in its partition a client's command has failed: where the disk says so, if that is in the command at all. */
static uint64_t failed_at(uint32_t cookie, uint64_t sector)
{
    const struct client *c = &client[CLIENT()];
    const struct command *command = &c->command[cookie % COMMANDS];
    uint64_t within = sector - c->first - command->sector;

    return within < command->count ? command->sector + within : command->sector;
}

/* A command that was dropped for another one's sake is sent again. */
static void queue_failed(uint32_t was_alone)
{
    uint32_t index = (uint32_t)COOKIE();
    uint32_t reason = MAIL(sata_failed)->reason;
    uint64_t sector = MAIL(sata_failed)->sector;

    if (!is_of_slot()) {
        return;
    }
    struct slot *s = &slot[index % SLOTS];
    if (reason == REASON_DROPPED && (!was_alone || s->tries + 1u < TRIES)) {
        uint32_t bit = bit_of(index);
        s->tries = s->tries + (was_alone != 0u);
        slots_sent = slots_sent & ~bit;
        slots_suspect = slots_suspect | bit;
        return;
    }
    slot_free(index);
    TURN_TO(s->client);
    uint32_t cookie = cookie_of(index);
    client_failed(cookie, reason == REASON_DROPPED ? REASON_HARDWARE : (uint8_t)reason, failed_at(cookie, sector));
}

static void queue_flushed(uint32_t is_good)
{
    uint64_t now = time_now();

    for (uint32_t i = 0; i < CLIENTS; i = i + 1u) {
        if (client[i].is_flushing && client[i].flush_round <= flush_round) {
            client[i].flush_after = now + share_flush_wait(now - flush_began, client[i].weight, weights);
        }
    }
    is_flushing = 0;
    clients_flushed(is_good);
}

/* The driver has forgotten what it had, or will forget it: nothing of it is answered. It is sent again once the disk is there. */
static void queue_lose(void)
{
    is_open = 0;
    is_aborting = 0;
    slots_sent = 0;
    if (is_flushing) { /* the round is to begin anew */
        is_flushing = 0;
        flush_round = flush_round - 1u;
    }
}

/* Only a reset helps: what was under way is tried alone afterwards, but not for ever. */
static void queue_wreck(uint32_t was_alone)
{
    uint32_t had = slots_sent;

    queue_lose();
    slots_suspect = slots_suspect | had;
    for (uint32_t left = had; left != 0u; left = left & (left - 1u)) {
        uint32_t index = lowest_of(left);
        struct slot *s = &slot[index % SLOTS];
        s->tries = s->tries + (was_alone != 0u);
        if (s->tries >= TRIES) {
            slot_free(index);
            TURN_TO(s->client);
            uint32_t cookie = cookie_of(index);
            client_failed(cookie, REASON_HARDWARE, failed_at(cookie, 0));
        }
    }
}

/* ... and it is not to be sent again. */
static void queue_forget(void)
{
    queue_lose();
    slots_used = 0;
    slots_suspect = 0;
}

/* Has the queue stopped because of a command that takes too long, and looks again when the next one could. */
static void queue_abort_late(uint64_t now)
{
    uint32_t is_late = 0;

    look_at = NEVER;
    for (uint32_t left = slots_sent; left != 0u; left = left & (left - 1u)) {
        uint64_t sent = slot[lowest_of(left) % SLOTS].sent;
        is_late = is_late | (now - sent >= TIMEOUT);
        look_at = sent + TIMEOUT < look_at ? sent + TIMEOUT : look_at;
    }
    if (is_late) {
        look_at = now + TIMEOUT;
    }
    if (is_late && is_open && !is_aborting) {
        is_aborting = 1;
        EMIT(SATA_ABORT);
    }
}

#endif
