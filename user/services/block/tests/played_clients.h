/* Clients, each with what it knows of its own sectors: what it was told is done, and what must be on the medium. */
#ifndef PLAYED_CLIENTS_H
#define PLAYED_CLIENTS_H

#include "played_driver.h"

static void client_say(uint32_t n, uint32_t mailbox, uint64_t cookie, const void *payload, uint32_t bytes)
{
    struct letter letter = {.mailbox = AT(FIRST_PORT + n, mailbox), .cookie = cookie};
    if (bytes != 0) {
        memcpy(letter.payload, payload, bytes);
    }
    post_put(&player[n].out, &letter);
}

static uint64_t first_of(uint32_t n, uint32_t cookie)
{
    return FIRST + n * STEP + cookie * REGION;
}

static uint8_t *buffer_of(uint32_t n, uint32_t cookie)
{
    return client_area[n] + cookie * REGION * SECTOR_BYTES;
}

static void client_ask(uint32_t n, uint32_t cookie)
{
    struct player *p = &player[n];
    struct sata_read body = {cookie * REGION, REGION, cookie * REGION * SECTOR_BYTES, (uint8_t)(below(4) == 0)};
    p->is_open[cookie] = 1;
    p->is_write[cookie] = below(2);
    if (p->is_write[cookie]) {
        p->writing[cookie] = ++next_version;
        for (uint32_t i = 0; i < REGION; i++) {
            make_sector(buffer_of(n, cookie) + i * SECTOR_BYTES, first_of(n, cookie) + i, p->writing[cookie]);
        }
    } else {
        memset(buffer_of(n, cookie), 0xee, REGION * SECTOR_BYTES);
        body.force = 0;
    }
    client_say(n, p->is_write[cookie] ? SATA_WRITE : SATA_READ, cookie, &body, sizeof body);
    p->writing[cookie] |= body.force && p->is_write[cookie] ? 0x80000000u : 0;
}

static void client_act(uint32_t n)
{
    static const struct sata_read outside[] = {{PART, 1, 0, 0}, {PART - 1, 2, 0, 0},
                                               {~0ul, 1, 0, 0}, {0, 1, CLIENT_AREA - 2, 0},
                                               {0, 129, 0, 0},  {0, 1, 1, 0}};
    struct player *p = &player[n];
    uint32_t cookie = below(OUTSIDE);
    if (p->is_gone) {
        return;
    }
    if (p->state == P_DOWN) {
        p->state = P_STARTING;
        client_say(n, SATA_START, 0, 0, 0);
    } else if (p->state == P_ACTIVE && below(8) == 0 && !p->is_flushing && !p->is_sleeping) {
        p->is_flushing = 1;
        memcpy(p->at_flush, p->version, sizeof p->at_flush);
        client_say(n, SATA_FLUSH, 0, 0, 0);
    } else if (p->state == P_ACTIVE && below(60) == 0 && !p->is_aborting) {
        p->is_aborting = 1;
        client_say(n, SATA_ABORT, 0, 0, 0);
    } else if (p->state == P_ACTIVE && below(20) == 0 && !p->is_open[OUTSIDE]) {
        p->is_open[OUTSIDE] = 2; /* it must fail: not its own sectors, or not its own memory */
        client_say(n, below(2) ? SATA_WRITE : SATA_READ, OUTSIDE, &outside[below(6)], sizeof outside[0]);
    } else if (p->state == P_ACTIVE && !p->is_open[cookie]) {
        client_ask(n, cookie);
    }
}

static void client_learn(uint32_t n, uint32_t cookie, uint32_t is_good)
{
    struct player *p = &player[n];
    uint32_t written = p->writing[cookie] & 0x7fffffffu;
    CHECK(p->is_open[cookie]);
    if (p->is_open[cookie] == 2) {
        CHECK(!is_good);
        p->is_open[cookie] = 0;
        return;
    }
    p->is_open[cookie] = 0;
    num_answered++;
    if (p->is_write[cookie]) {
        p->version[cookie] = is_good ? written : UNKNOWN_VERSION;
        for (uint32_t i = 0; i < REGION && is_good; i++) {
            CHECK(cache[first_of(n, cookie) + i] == written);
            if (!p->has_cache || (p->writing[cookie] & 0x80000000u) != 0) {
                CHECK(medium[first_of(n, cookie) + i] == written);
            }
        }
        return;
    }
    for (uint32_t i = 0; i < REGION && is_good; i++) {
        uint64_t sector;
        memcpy(&sector, buffer_of(n, cookie) + i * SECTOR_BYTES, sizeof sector);
        CHECK(sector == first_of(n, cookie) + i);
        uint32_t version = version_of(buffer_of(n, cookie) + i * SECTOR_BYTES);
        CHECK(p->version[cookie] == UNKNOWN_VERSION || version == p->version[cookie]);
    }
}

static void client_lose(struct player *p)
{
    for (uint32_t i = 0; i < COMMANDS; i++) {
        if (p->is_open[i] == 1 && p->is_write[i]) {
            p->version[i] = UNKNOWN_VERSION;
        }
        p->is_open[i] = 0;
    }
    p->is_flushing = p->is_aborting = 0;
}

static void player_flushed(uint32_t n)
{
    struct player *p = &player[n];
    p->is_flushing = 0;
    num_flushed++;
    for (uint32_t cookie = 0; cookie < COMMANDS; cookie++) {
        for (uint32_t i = 0; i < REGION && p->at_flush[cookie] != UNKNOWN_VERSION; i++) {
            /* That one, or a later one of the same region: versions grow. */
            CHECK(medium[first_of(n, cookie) + i] >= p->at_flush[cookie]);
        }
    }
}

static void client_hear(uint32_t n)
{
    static const struct sata_identify identify_at = {COMMANDS * REGION * SECTOR_BYTES};
    struct player *p = &player[n];
    struct letter letter;
    if (p->is_gone || !post_take(&p->in, &letter)) {
        return;
    }
    switch (AT(SATA_NUMBER, letter.mailbox)) {
    case SATA_START_OK:
        p->state = P_EMPTY;
        break;
    case SATA_PLUGGED:
        p->state = P_BUSY;
        client_say(n, SATA_RESET, 0, 0, 0);
        break;
    case SATA_RESET_OK:
        client_say(n, SATA_IDENTIFY, 0, &identify_at, sizeof identify_at);
        break;
    case SATA_IDENTIFY_OK: {
        const struct sata_identify_ok *body = (const struct sata_identify_ok *)letter.payload;
        struct sata_configure configure_as = {32, (uint8_t)below(2)};
        uint8_t *identity = client_area[n] + COMMANDS * REGION * SECTOR_BYTES;
        uint64_t words = 0;
        memcpy(&words, identity + 200, sizeof words);
        CHECK(body->sectors == PART && body->depth == DEPTH && words == PART && identity[20] == 's');
        p->has_cache = configure_as.write_cache;
        client_say(n, SATA_CONFIGURE, 0, &configure_as, sizeof configure_as);
        break;
    }
    case SATA_CONFIGURE_OK:
        p->state = P_ACTIVE;
        break;
    case SATA_UNPLUGGED:
        client_lose(p);
        p->state = P_EMPTY;
        client_say(n, SATA_UNPLUGGED_OK, 0, 0, 0);
        break;
    case SATA_DONE:
        client_learn(n, (uint32_t)letter.cookie, 1);
        break;
    case SATA_FAILED: {
        const struct sata_failed *body = (const struct sata_failed *)letter.payload;
        uint64_t first = first_of(n, (uint32_t)letter.cookie);
        if (body->reason == REASON_HARDWARE) {
            CHECK(bad_sector >= first && bad_sector < first + REGION); /* no client pays for another one's sector */
            CHECK(body->sector >= letter.cookie * REGION && body->sector < (letter.cookie + 1) * REGION);
            num_bad_seen++;
        }
        CHECK(letter.cookie != OUTSIDE || body->reason == REASON_REQUEST || p->is_aborting);
        client_learn(n, (uint32_t)letter.cookie, 0);
        break;
    }
    case SATA_FROZEN:
        p->state = P_FROZEN;
        client_say(n, SATA_RECOVER, 0, 0, 0);
        break;
    case SATA_RECOVERED:
        p->is_aborting = 0;
        p->state = P_ACTIVE;
        break;
    case SATA_RECOVER_FAIL:
        client_lose(p);
        num_wrecked++;
        p->state = P_BUSY;
        client_say(n, SATA_RESET, 0, 0, 0);
        break;
    case SATA_RESET_FAIL: /* the disk still has commands of it */
        client_say(n, SATA_RESET, 0, 0, 0);
        break;
    case SATA_FLUSH_OK:
        player_flushed(n);
        break;
    case SATA_FLUSH_FAIL:
        p->is_flushing = 0;
        break;
    default:
        CHECK(0);
    }
}

/* The service takes a client's message. Of a client that is gone, what the library says in its place. */
static void service_hear(uint32_t n)
{
    struct player *p = &player[n];
    static const uint32_t ends[] = {SATA_UNPLUGGED_OK, SATA_STOP, SATA_RECOVER, SATA_WAKE};
    if (!p->is_gone) {
        if (!post_take(&p->out, &current_letter)) {
            return;
        }
        uint32_t mailbox = current_letter.mailbox;
        enum monitor_verdict verdict =
            monitor_step(&p->monitor, mailbox, current_letter.cookie, current_letter.payload, 1);
        if (verdict != MONITOR_OK) {
            fprintf(stderr, "the test's client %u: %s in %s: %s\n", n, sata_protocol.messages[mailbox & 0xff].name,
                    monitor_state(&p->monitor), monitor_explain(verdict));
            exit(1);
        }
        give(mailbox);
        return;
    }
    const struct monitor *monitor = &p->monitor;
    if (monitor_return(&monitor, 1) == MONITOR_OK) {
        CHECK(client[n].open == 0);
        p->is_gone = 0;
        p->state = P_DOWN;
        monitor_start(&p->monitor, &sata_protocol, p->open);
        p->monitor.first = AT(FIRST_PORT + n, 0);
        return;
    }
    memset(&current_letter, 0, sizeof current_letter);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t mailbox = AT(FIRST_PORT + n, ends[i]);
        if (monitor_step(&p->monitor, mailbox, 0, 0, 1) == MONITOR_OK) {
            give(mailbox);
            return;
        }
    }
}

static void client_die(uint32_t n)
{
    struct player *p = &player[n];
    if (p->is_gone) {
        return;
    }
    /* What it has sent may still be taken or not; here it is not. */
    client_lose(p);
    post_empty(&p->in);
    post_empty(&p->out);
    p->is_gone = 1;
    p->state = P_DOWN;
}

#endif
