/* The disk's queue and who may use it. Clients take turns, a command each, and none has more than its share under way (shares.h), so
 * one that floods waits for itself. Once the queue has stopped without telling which command was at fault, those that were under way
 * are tried alone, one after the other, so that the error is that client's whose command it is. */
#ifndef QUEUE_H
#define QUEUE_H

#include "ashlar/string.h"
#include "ashlar/syscall.h"
#include "block.h"
#include "shares.h"

#define TRIES 4u              /* of a command that stops the queue when it is alone in it */
#define TIMEOUT 10000000000ul /* ns: until a command is aborted */
#define DATA_BYTES (NUM_SLOT * SLOT_BYTES)

static uint8_t *data;                     /* shared with the driver; null while the link is not up */
static uint8_t is_open;                   /* the disk takes commands */
static uint8_t is_aborting;               /* ... and was told to stop, once */
static uint8_t is_flushing;               /* it was asked for a flush and has not answered */
static uint64_t flush_began;              /* when, ns since boot */
static uint32_t turn;                     /* the client that is looked at first */
static uint64_t look_at = DEADLINE_NEVER; /* whether a command takes too long */

static void ask(uint32_t mailbox, uint64_t cookie, const void *payload, uint32_t bytes)
{
    void *place = domain_emit_begin(mailbox, cookie);

    if (bytes != 0) {
        memcpy(place, payload, bytes);
    }
    domain_emit_end(mailbox, cookie);
}

/* Gives the driver a command, the first time or again. What is to be written is copied each time: setting the link up for a new
 * driver leaves marks in the data area. */
static void send(uint32_t index)
{
    struct slot *s = &slot[index];
    const struct client *of = &client[s->client];
    const struct command *c = &of->command[s->cookie];
    struct sata_read body = {of->first + c->sector, c->count, index * SLOT_BYTES, c->force};
    const uint8_t *from = client_bytes(s->client, c);

    if (from == 0) { /* the client has gone */
        s->is_used = 0;
        client_finish(s->client, s->cookie, REASON_DROPPED, c->sector);
        return;
    }
    if (c->is_write) {
        memcpy(data + index * SLOT_BYTES, from, (uint64_t)c->count * disk.sector_size);
    }
    s->is_sent = 1;
    s->sent = sys_clock();
    look_at = look_at == DEADLINE_NEVER ? s->sent + TIMEOUT : look_at;
    ask(c->is_write ? SATA_WRITE : SATA_READ, index, &body, sizeof body);
}

/* ---- turns ---- */

/* Do others want anything of the disk? */
static int has_rivals(uint32_t number)
{
    for (uint32_t i = 0; i < num_client; i++) {
        const struct client *c = &client[i];
        if (i != number && (c->num_waiting != 0 || c->num_under_way != 0 || c->flush != NO_FLUSH)) {
            return 1;
        }
    }
    return 0;
}

/* A flush has taken others' time, and the client has not waited as long as they are to have for it: no further one, and a command at a
 * time. */
static int is_in_debt(uint32_t number)
{
    return client[number].flush_after != 0 && has_rivals(number);
}

static void forgive_debts(void)
{
    for (uint32_t i = 0; i < num_client; i++) {
        if (client[i].flush_after != 0 && sys_clock() >= client[i].flush_after) {
            client[i].flush_after = 0;
        }
    }
}

static int has_share_left(uint32_t number)
{
    const struct client *c = &client[number];
    uint32_t most = is_in_debt(number) ? 0 : c->work_most;

    return c->num_under_way < c->places && share_admits(most, c->work_under_way, c->command[c->order[c->next]].work);
}

static int may_begin(uint32_t number)
{
    const struct client *c = &client[number];

    return c->port == ACTIVE && c->owed == NOTHING && !c->is_asleep && c->num_waiting != 0 && has_share_left(number);
}

/* The client whose turn it is, or num_client: none has anything to begin. */
static uint32_t next_client(void)
{
    for (uint32_t i = 0; i < num_client; i++) {
        uint32_t number = (turn + i) % num_client;
        if (may_begin(number)) {
            turn = (number + 1) % num_client;
            return number;
        }
    }
    return num_client;
}

/* Puts a client's oldest command into a free place. */
static void begin(uint32_t index, uint32_t number)
{
    struct client *of = &client[number];
    uint32_t cookie = take_waiting(of);

    of->command[cookie].state = UNDER_WAY;
    of->num_under_way++;
    of->work_under_way += of->command[cookie].work;
    slot[index] = (struct slot){.is_used = 1, .client = number, .cookie = cookie};
    send(index);
}

static void begin_waiting(void)
{
    uint32_t index = 0;
    uint32_t number = next_client();

    while (number != num_client) {
        while (index < disk.depth && slot[index].is_used) {
            index++;
        }
        if (index >= disk.depth) {
            turn = number; /* it stays this client's */
            return;
        }
        begin(index, number);
        number = next_client();
    }
}

static uint32_t num_sent(void)
{
    uint32_t num = 0;

    for (uint32_t i = 0; i < NUM_SLOT; i++) {
        num += slot[i].is_sent;
    }
    return num;
}

static int has_suspect(void)
{
    for (uint32_t i = 0; i < NUM_SLOT; i++) {
        if (slot[i].is_used && slot[i].is_suspect) {
            return 1;
        }
    }
    return 0;
}

/* Sends again what the driver has forgotten or dropped, as far as that may be under way now. */
static void send_again(void)
{
    for (uint32_t i = 0; i < NUM_SLOT; i++) {
        int is_alone = slot[i].is_suspect && num_sent() == 0;
        if (slot[i].is_used && !slot[i].is_sent && (is_alone || !has_suspect())) {
            send(i);
        }
    }
}

/* One flush at a time: it covers all that was done when it is asked for, so a client that asks meanwhile waits for the next. Once one
 * may begin, all take part that wait for one. */
static void flush(void)
{
    uint8_t is_wanted = 0;

    for (uint32_t i = 0; i < num_client && !is_flushing; i++) {
        is_wanted |= client[i].flush == FLUSH_WAITING && !is_in_debt(i);
    }
    if (!is_wanted) {
        return;
    }
    for (uint32_t i = 0; i < num_client; i++) {
        client[i].flush = client[i].flush == FLUSH_WAITING ? FLUSH_UNDER_WAY : client[i].flush;
    }
    is_flushing = 1;
    flush_began = sys_clock();
    ask(SATA_FLUSH, 0, 0, 0);
}

/* When a flush that waits may begin; DEADLINE_NEVER if none does, or something else is to come before. */
static uint64_t flush_deadline(void)
{
    uint64_t next = DEADLINE_NEVER;

    for (uint32_t i = 0; i < num_client; i++) {
        if (client[i].flush == FLUSH_WAITING && client[i].flush_after < next) {
            next = client[i].flush_after;
        }
    }
    return next == DEADLINE_NEVER || (is_open && !is_flushing && !has_suspect()) ? next : DEADLINE_NEVER;
}

/* Gives the disk what waits. */
static void queue_go_on(void)
{
    if (is_open) {
        send_again();
    }
    if (is_open && !has_suspect()) {
        forgive_debts();
        begin_waiting();
        flush();
    }
}

/* ---- answers ---- */

/* The slot that the driver's message is about; null if it has none such. */
static struct slot *named_slot(void)
{
    uint64_t index = domain_current->cookie;

    return index < NUM_SLOT && slot[index].is_sent ? &slot[index] : 0;
}

static void queue_done(void)
{
    struct slot *s = named_slot();

    if (s == 0) {
        return;
    }
    const struct command *c = &client[s->client].command[s->cookie];
    uint8_t *to = client_bytes(s->client, c);
    if (!c->is_write && to != 0) {
        memcpy(to, data + (uint64_t)(s - slot) * SLOT_BYTES, (uint64_t)c->count * disk.sector_size);
    }
    s->is_used = s->is_sent = 0;
    client_finish(s->client, s->cookie, 0, 0);
}

/* A command that was dropped for another one's sake is sent again. */
static void queue_failed(uint32_t was_alone)
{
    const struct sata_failed *body = (const struct sata_failed *)domain_current->payload;
    struct slot *s = named_slot();
    uint8_t reason = body->reason;

    if (s == 0) {
        return;
    }
    const struct client *of = &client[s->client];
    uint64_t first = of->command[s->cookie].sector;
    uint32_t count = of->command[s->cookie].count;
    /* Where the disk says that it failed, if that is in the command at all. */
    uint64_t sector = body->sector - of->first;
    sector = sector - first < count ? sector : first;
    s->is_sent = 0;
    if (reason == REASON_DROPPED && (!was_alone || s->tries + 1u < TRIES)) {
        s->tries += was_alone != 0;
        s->is_suspect = 1;
        return;
    }
    s->is_used = 0;
    client_finish(s->client, s->cookie, reason == REASON_DROPPED ? REASON_HARDWARE : reason, sector);
}

static void queue_flushed(uint32_t is_good)
{
    uint64_t now = sys_clock();

    for (uint32_t i = 0; i < num_client; i++) {
        if (client[i].flush == FLUSH_UNDER_WAY) {
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
    for (uint32_t i = 0; i < NUM_SLOT; i++) {
        slot[i].is_sent = 0;
    }
    if (is_flushing) {
        is_flushing = 0;
        for (uint32_t i = 0; i < num_client; i++) {
            client[i].flush = client[i].flush == FLUSH_UNDER_WAY ? FLUSH_WAITING : client[i].flush;
        }
    }
}

/* Only a reset helps: what was under way is tried alone afterwards, but not for ever. */
static void queue_wreck(uint32_t was_alone)
{
    for (uint32_t i = 0; i < NUM_SLOT; i++) {
        struct slot *s = &slot[i];
        if (!s->is_sent) {
            continue;
        }
        s->is_suspect = 1;
        s->tries += was_alone != 0;
        if (s->tries == TRIES) {
            s->is_used = s->is_sent = 0;
            client_finish(s->client, s->cookie, REASON_HARDWARE, client[s->client].command[s->cookie].sector);
        }
    }
    queue_lose();
}

/* ... and it is not to be sent again. */
static void queue_forget(void)
{
    queue_lose();
    memset(slot, 0, sizeof slot);
}

/* Has the queue stopped because of a command that takes too long, and looks again when the next one could. */
static void queue_abort_late(uint64_t now)
{
    look_at = DEADLINE_NEVER;
    for (uint32_t i = 0; i < NUM_SLOT && is_open; i++) {
        struct slot *s = &slot[i];
        if (!s->is_sent) {
            continue;
        }
        if (now - s->sent >= TIMEOUT) {
            s->sent = now;
            look_at = now + TIMEOUT;
            if (!is_aborting) {
                is_aborting = 1;
                ask(SATA_ABORT, i, 0, 0);
            }
            return;
        }
        look_at = s->sent + TIMEOUT < look_at ? s->sent + TIMEOUT : look_at;
    }
}

#endif
