/* The driver and its disk, as the protocol lets them be: slow, in any order, with errors. */
#ifndef PLAYED_DRIVER_H
#define PLAYED_DRIVER_H

#include "world.h"

static void driver_say(uint32_t mailbox, uint64_t cookie, const void *payload, uint32_t bytes)
{
    struct letter letter = {.mailbox = mailbox, .cookie = cookie};
    if (bytes != 0) {
        memcpy(letter.payload, payload, bytes);
    }
    enum monitor_verdict verdict = monitor_emit(&driver_monitor, mailbox, cookie, letter.payload);
    if (verdict != MONITOR_OK) {
        fprintf(stderr, "the test's driver: %s in %s: %s\n", sata_protocol.messages[mailbox & 0xff].name,
                monitor_state(&driver_monitor), monitor_explain(verdict));
        exit(1);
    }
    post_put(&from_driver, &letter);
}

static void driver_word(uint32_t mailbox)
{
    driver_say(mailbox, 0, 0, 0);
}

static int driver_is(const char *state)
{
    return strstr(monitor_state(&driver_monitor), state) != 0;
}

static void driver_plug(void)
{
    if (has_disk && driver_is_up && strcmp(monitor_state(&driver_monitor), "Empty") == 0) {
        driver_word(SATA_PLUGGED);
    }
}

static uint32_t version_of(const uint8_t *bytes)
{
    uint32_t version = 0;
    memcpy(&version, bytes + 8, sizeof version);
    return version;
}

/* A sector's bytes: its number, its version. */
static void make_sector(uint8_t *bytes, uint64_t sector, uint32_t version)
{
    memset(bytes, (int)(version & 0x7f), SECTOR_BYTES);
    memcpy(bytes, &sector, sizeof sector);
    memcpy(bytes + 8, &version, sizeof version);
}

static void driver_fail(uint32_t index, uint8_t reason)
{
    const struct sata_failed body = {reason, issued[index].sector};
    is_issued[index] = 0;
    driver_say(SATA_FAILED, index, &body, sizeof body);
}

static void driver_freeze(uint8_t reason)
{
    const struct sata_frozen body = {reason};
    driver_state_frozen = 1;
    driver_is_aborting = 0;
    driver_say(SATA_FROZEN, 0, &body, sizeof body);
}

static void driver_complete(uint32_t index)
{
    const struct sata_read *c = &issued[index];
    if (bad_sector != 0 && bad_sector >= c->sector && bad_sector < c->sector + c->count) {
        num_stops++;
        driver_freeze(REASON_HARDWARE);
        return;
    }
    for (uint32_t i = 0; i < c->count; i++) {
        uint8_t *bytes = disk_area + c->buffer + i * SECTOR_BYTES;
        uint64_t at = c->sector + i;
        if (issued_write[index]) {
            uint64_t named;
            memcpy(&named, bytes, sizeof named);
            CHECK(named == at); /* the sector that its client meant */
            cache[at] = version_of(bytes);
            if (c->force) {
                medium[at] = cache[at];
            }
        } else {
            make_sector(bytes, at, cache[at]);
        }
    }
    is_issued[index] = 0;
    driver_say(SATA_DONE, index, 0, 0);
}

static uint32_t num_issued(void)
{
    uint32_t num = 0;
    for (uint32_t i = 0; i < SLOTS; i++) {
        num += is_issued[i];
    }
    return num;
}

static void check_shares(void)
{
    uint32_t num[PLAYERS] = {0}, work[PLAYERS] = {0};
    for (uint32_t i = 0; i < SLOTS; i++) {
        if ((slots_used >> i & 1u) != 0u) {
            uint32_t n = slot[i].client, places = disk.depth * client[n].weight / weights;
            num[n]++;
            work[n] += work_of(REGION * SECTOR_BYTES);
            CHECK(i < disk.depth && (num[n] <= places || num[n] == 1));
            CHECK(num[n] == 1 || work[n] * weights <= disk.depth * WORK_USUAL * client[n].weight);
        }
    }
}

static void driver_open_command(const struct letter *letter)
{
    uint32_t index = (uint32_t)letter->cookie;
    memcpy(&issued[index], letter->payload, sizeof issued[index]);
    const struct sata_read *c = &issued[index];
    CHECK(c->sector < SECTORS && c->count <= SECTORS - c->sector && c->buffer + c->count * SECTOR_BYTES <= IDENTITY);
    is_issued[index] = 1;
    issued_write[index] = letter->mailbox == SATA_WRITE;
    if (driver_state_frozen) {
        driver_fail(index, REASON_DROPPED);
    }
}

static void driver_recover(void)
{
    if (below(8) == 0) {
        memset(is_issued, 0, sizeof is_issued);
        driver_state_frozen = 0;
        driver_word(SATA_RECOVER_FAIL);
        return;
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (is_issued[i]) {
            driver_fail(i, REASON_DROPPED);
        }
    }
    driver_state_frozen = 0;
    driver_word(SATA_RECOVERED);
}

static void driver_hear(void)
{
    static const struct sata_start_ok start_ok = {.slots = 32};
    static const struct sata_reset_ok reset_ok = {.kind = KIND_DISK};
    static const struct sata_identify_ok identify_ok = {
        .sectors = SECTORS, .sector_size = SECTOR_BYTES, .depth = DEPTH};
    static const struct sata_reset_fail fail = {.reason = 1};
    static const struct sata_flush_fail flush_fail;
    struct letter letter;
    if (driver_is_up && driver_is_aborting && !driver_is_slow && below(4) == 0) {
        driver_freeze(REASON_DROPPED);
        return;
    }
    if (!driver_is_up || !post_take(&to_driver, &letter)) {
        return;
    }
    enum monitor_verdict verdict = monitor_receive(&driver_monitor, letter.mailbox, letter.cookie, letter.payload);
    if (verdict != MONITOR_OK) {
        fprintf(stderr, "to the driver: %s in %s: %s\n", sata_protocol.messages[letter.mailbox & 0xff].name,
                monitor_state(&driver_monitor), monitor_explain(verdict));
        exit(1);
    }
    if (driver_is("Detached")) {
        return;
    }
    switch (letter.mailbox) {
    case SATA_START:
        if (below(4) == 0) {
            driver_say(SATA_START_FAIL, 0, &fail, sizeof fail);
        } else {
            driver_say(SATA_START_OK, 0, &start_ok, sizeof start_ok);
            driver_plug();
        }
        break;
    case SATA_UNPLUGGED_OK:
        driver_plug();
        break;
    case SATA_RESET:
        memset(is_issued, 0, sizeof is_issued);
        if (below(6) == 0) {
            driver_say(SATA_RESET_FAIL, 0, &fail, sizeof fail);
        } else {
            driver_say(SATA_RESET_OK, 0, &reset_ok, sizeof reset_ok);
        }
        break;
    case SATA_IDENTIFY:
        memset(disk_area + IDENTITY, 's', IDENTITY_BYTES);
        driver_say(SATA_IDENTIFY_OK, 0, &identify_ok, sizeof identify_ok);
        break;
    case SATA_CONFIGURE:
        driver_state_frozen = 0;
        driver_word(SATA_CONFIGURE_OK);
        break;
    case SATA_READ:
    case SATA_WRITE:
        if (!driver_is("Wrecked")) {
            driver_open_command(&letter);
        }
        break;
    case SATA_ABORT:
        driver_is_aborting = !driver_state_frozen;
        break;
    case SATA_RECOVER:
        driver_recover();
        break;
    case SATA_FLUSH:
        if (driver_is("Wrecked")) {
            break;
        }
        if (driver_state_frozen || below(10) == 0) {
            driver_say(SATA_FLUSH_FAIL, 0, &flush_fail, sizeof flush_fail);
        } else {
            memcpy(medium, cache, sizeof medium);
            driver_word(SATA_FLUSH_OK);
        }
        break;
    default:
        CHECK(0);
    }
}

/* The service takes a message. */
static void give(uint32_t mailbox)
{
    uint32_t port = mailbox >> 8;
    current = (struct mail){.mailbox = mailbox, .cookie = current_letter.cookie};
    memcpy(current.payload, current_letter.payload, MAIL_PAYLOAD);
    in_turn = port >= FIRST_PORT ? port - FIRST_PORT : NO_CLIENT;
    receive(port >= FIRST_PORT ? AT(SATA_NUMBER, mailbox) : mailbox);
    queue_go_on();
    check_shares();
}

static void timer_fire(void)
{
    now = timer_at > now ? timer_at : now;
    timer_is_armed = 0;
    num_ticks++;
    give(TIMER_FIRED);
}

static void driver_die(void)
{
    driver_is_up = 0;
    driver_is_aborting = 0;
    driver_state_frozen = 0;
    memset(is_issued, 0, sizeof is_issued);
    post_empty(&to_driver);
    post_empty(&from_driver);
    give(AT(PORT, MAIL_LINK_LOST));
}

static void driver_be_born(void)
{
    driver_is_up = 1;
    for (uint32_t i = 0; i < DATA_PAGES; i++) { /* marks that the set-up of the link leaves */
        memset(disk_area + i * PAGE, 0xa5, 16);
    }
    monitor_start(&driver_monitor, &sata_protocol, driver_open);
    give(AT(PORT, MAIL_LINK_UP));
}

static void driver_unplug(void)
{
    if (driver_is_up && !driver_is("Stopped") && !driver_is("Starting") && !driver_is("Empty") &&
        !driver_is("Detached")) {
        memset(is_issued, 0, sizeof is_issued);
        driver_state_frozen = driver_is_aborting = 0;
        driver_word(SATA_UNPLUGGED);
        driver_plug();
    }
}

#endif
