/* The client of a disk's driver, against a driver that this test plays: bringing the disk up, a driver that is lost, a disk that
 * is taken out or is another one, requests that fail or take too long, flushes in order. */
#include "../virtio/disk.c"

#include "../../libc/tests/check.h"

#define NUM_EMITTED 64u

struct emitted {
    uint32_t mailbox;
    uint64_t cookie;
    uint8_t payload[MAIL_PAYLOAD];
};

static uint64_t now = 1000;
static uint8_t area[DATA_PAGES * PAGE];
static uint32_t is_up;
static struct emitted emitted[NUM_EMITTED];
static uint32_t num_emitted, num_seen;
static struct mail incoming;
const struct mail *domain_current;
const struct protocol sata_protocol;

static uint32_t is_wanted[DISK_SLOTS];
static uint32_t num_good, num_bad, num_changed, last_done;

uint64_t clock_now(void)
{
    return now;
}

void domain_flush(void)
{
}

void domain_connect(uint32_t port, const char *driver, const struct protocol *protocol, uint32_t capacity,
                    uint32_t pages)
{
    CHECK(port == SATA_NUMBER && driver != 0 && protocol == &sata_protocol && capacity >= 64 && pages == DATA_PAGES);
}

void *domain_data(uint32_t port, uint64_t *bytes)
{
    CHECK(port == SATA_NUMBER);
    *bytes = sizeof area;
    return is_up ? area : 0;
}

void *domain_emit_begin(uint32_t mailbox, uint64_t cookie)
{
    CHECK(num_emitted < NUM_EMITTED);
    emitted[num_emitted].mailbox = mailbox;
    emitted[num_emitted].cookie = cookie;
    return emitted[num_emitted].payload;
}

void domain_emit_end(uint32_t mailbox, uint64_t cookie)
{
    (void)mailbox, (void)cookie;
    num_emitted++;
}

uint32_t block_prepare(uint32_t index, uint8_t *buffer)
{
    CHECK(buffer == area + index * DISK_MOST);
    return is_wanted[index];
}

void block_done(uint32_t index, uint32_t is_good, const uint8_t *buffer)
{
    CHECK(buffer == (is_up ? area + index * DISK_MOST : 0));
    num_good += is_good;
    num_bad += is_good == 0;
    last_done = index;
}

void block_changed(void)
{
    num_changed++;
}

/* The driver says something. */
static void hear(uint32_t mailbox, uint64_t cookie, const void *payload, uint32_t bytes)
{
    incoming = (struct mail){.mailbox = mailbox, .cookie = cookie};
    if (bytes != 0) {
        memcpy(incoming.payload, payload, bytes);
    }
    domain_current = &incoming;
    disk_receive(mailbox);
    disk_go_on();
}

static void hear_word(uint32_t mailbox)
{
    hear(mailbox, 0, 0, 0);
}

/* The monitor has said just this since it was last looked at. */
#define SAID(expected) CHECK(num_emitted == num_seen + 1 && emitted[num_seen].mailbox == (expected) && ++num_seen)
#define SAID_NOTHING() CHECK(num_emitted == num_seen)

static void begin(uint32_t index, enum disk_kind kind)
{
    is_wanted[index] = 1;
    disk_begin(index, &(struct disk_work){.kind = kind, .sector = 10 + index, .count = 2});
}

static void identify(uint64_t sectors, char serial, uint8_t depth)
{
    const struct sata_identify_ok body = {.sectors = sectors, .sector_size = 512, .depth = depth};
    memset(area + IDENTITY + IDENTITY_SERIAL, serial, DISK_SERIAL);
    area[IDENTITY + IDENTITY_SERIAL] = 'z'; /* the second, when the pairs are turned */
    hear(SATA_IDENTIFY_OK, 0, &body, sizeof body);
}

static void bring_up_to_identity(void)
{
    const struct sata_start_ok started = {.slots = 32};
    const struct sata_reset_ok was = {.kind = KIND_DISK};
    is_up = 1;
    num_emitted = num_seen = 0;
    hear_word(AT(PORT, MAIL_LINK_UP));
    SAID(SATA_START);
    hear(SATA_START_OK, 0, &started, sizeof started);
    SAID_NOTHING();
    hear_word(SATA_PLUGGED);
    SAID(SATA_RESET);
    hear(SATA_RESET_OK, 0, &was, sizeof was);
    SAID(SATA_IDENTIFY);
}

static void bring_up(uint64_t sectors, char serial)
{
    bring_up_to_identity();
    identify(sectors, serial, 8);
    SAID(SATA_CONFIGURE);
    hear_word(SATA_CONFIGURE_OK);
}

static void lose_link(void)
{
    is_up = 0;
    hear_word(AT(PORT, MAIL_LINK_LOST));
}

static void test_start(void)
{
    disk_connect("ahci", 512 * 1000);
    CHECK(identity.sectors == 0 && disk_deadline() == DISK_NEVER);
    is_up = 1;
    hear_word(AT(PORT, MAIL_LINK_UP));
    SAID(SATA_START);
    hear_word(SATA_START_FAIL); /* the bus has not found the adapter yet */
    SAID_NOTHING();
    CHECK(disk_deadline() == now + RETRY_AFTER);
    disk_expire(now);
    SAID_NOTHING();
    now += RETRY_AFTER;
    disk_expire(now);
    SAID(SATA_START);
    CHECK(disk_deadline() == DISK_NEVER);
    bring_up(4000, 'a');
    SAID_NOTHING();
    CHECK(identity.sectors == 1000 && identity.depth == 8 && identity.serial[0] == 'a' && identity.serial[1] == 'z');
    CHECK(num_changed == 1);
}

static void test_requests(void)
{
    const struct sata_failed hardware = {.reason = 1}, dropped = {.reason = REASON_DROPPED};
    begin(0, DISK_READ);
    SAID(SATA_READ);
    begin(1, DISK_WRITE);
    SAID(SATA_WRITE);
    CHECK(((struct sata_write *)emitted[num_seen - 1].payload)->buffer == DISK_MOST &&
          emitted[num_seen - 1].cookie == 1);
    hear(SATA_DONE, 5, 0, 0); /* of a slot without a request */
    hear(SATA_DONE, 1ul << 40, 0, 0);
    CHECK(num_good == 0 && num_bad == 0);
    hear(SATA_DONE, 1, 0, 0);
    CHECK(num_good == 1 && last_done == 1);
    hear(SATA_DONE, 1, 0, 0); /* twice */
    CHECK(num_good == 1);
    hear(SATA_FAILED, 0, &hardware, sizeof hardware);
    CHECK(num_bad == 1 && last_done == 0);
    /* Another's error: sent again once the queue works. */
    begin(2, DISK_READ);
    SAID(SATA_READ);
    hear_word(SATA_FROZEN);
    SAID(SATA_RECOVER);
    begin(3, DISK_READ);
    hear(SATA_FAILED, 2, &dropped, sizeof dropped);
    SAID_NOTHING();
    hear_word(SATA_RECOVERED);
    CHECK(num_emitted == num_seen + 2);
    num_seen = num_emitted;
    hear(SATA_DONE, 3, 0, 0);
    hear(SATA_DONE, 2, 0, 0);
    CHECK(num_good == 3 && num_bad == 1);
    /* ... but not for ever. */
    num_emitted = num_seen = 0;
    begin(2, DISK_READ);
    for (uint32_t i = 1; i < MAX_TRIES; i++) {
        num_emitted = num_seen = 0;
        hear(SATA_FAILED, 2, &dropped, sizeof dropped);
        SAID(SATA_READ);
    }
    hear(SATA_FAILED, 2, &dropped, sizeof dropped);
    SAID_NOTHING();
    CHECK(num_bad == 2 && last_done == 2);
}

static void test_flushes(void)
{
    uint32_t good = num_good, bad = num_bad;
    num_emitted = num_seen = 0;
    begin(0, DISK_FLUSH);
    SAID(SATA_FLUSH);
    begin(1, DISK_FLUSH);
    begin(2, DISK_FLUSH);
    SAID_NOTHING(); /* they may have to cover more than the one under way */
    hear(SATA_DONE, 1, 0, 0);
    hear_word(SATA_FLUSH_OK);
    SAID(SATA_FLUSH); /* one for both */
    CHECK(num_good == good + 1);
    hear_word(SATA_FLUSH_OK);
    CHECK(num_good == good + 3);
    begin(0, DISK_FLUSH);
    SAID(SATA_FLUSH);
    for (uint32_t i = 1; i < MAX_TRIES / LONG_TRIES; i++) {
        hear_word(SATA_FLUSH_FAIL);
        SAID(SATA_FLUSH);
    }
    hear_word(SATA_FLUSH_FAIL);
    SAID_NOTHING();
    CHECK(num_bad == bad + 1);
}

static void test_lost_driver(void)
{
    uint32_t good = num_good, bad = num_bad, changed = num_changed;
    num_emitted = num_seen = 0;
    begin(0, DISK_WRITE);
    begin(1, DISK_FLUSH);
    begin(2, DISK_READ);
    is_wanted[2] = 0; /* the guest has reset its device meanwhile */
    lose_link();
    begin(3, DISK_READ);
    CHECK(num_good == good && num_bad == bad && identity.sectors == 1000);
    bring_up(4000, 'a');
    CHECK(num_emitted == num_seen + 3); /* all but the one that is not wanted */
    CHECK(num_bad == bad + 1 && last_done == 2);
    hear(SATA_DONE, 0, 0, 0);
    hear(SATA_DONE, 3, 0, 0);
    hear_word(SATA_FLUSH_OK);
    CHECK(num_good == good + 3 && num_changed == changed);
    /* Another disk stands there when the driver is back: what was meant for the old one fails. */
    begin(0, DISK_WRITE);
    lose_link();
    bring_up(4000, 'b');
    SAID_NOTHING();
    CHECK(num_bad == bad + 2 && num_changed == changed + 1);
}

static void test_unplugged(void)
{
    uint32_t bad = num_bad, changed = num_changed;
    const struct sata_reset_ok packet = {.kind = 2};
    begin(0, DISK_WRITE);
    num_emitted = num_seen = 0;
    hear_word(SATA_UNPLUGGED);
    SAID(SATA_UNPLUGGED_OK);
    CHECK(num_bad == bad + 1 && num_changed == changed + 1 && identity.sectors == 0);
    hear_word(SATA_PLUGGED);
    SAID(SATA_RESET);
    hear_word(SATA_RESET_FAIL);
    now += RETRY_AFTER;
    disk_expire(now);
    SAID(SATA_RESET);
    hear(SATA_RESET_OK, 0, &packet, sizeof packet);
    SAID_NOTHING(); /* not a disk */
    lose_link();
    bring_up(500, 'c');
    CHECK(identity.sectors == 500);
}

static void test_late(void)
{
    const struct sata_failed dropped = {.reason = REASON_DROPPED};
    num_emitted = num_seen = 0;
    now = disk_deadline(); /* of requests that were answered */
    disk_expire(now);
    CHECK(disk_deadline() == DISK_NEVER);
    begin(0, DISK_READ);
    SAID(SATA_READ);
    uint64_t first = disk_deadline();
    CHECK(first == now + TIMEOUT);
    now += 1000;
    begin(1, DISK_READ);
    SAID(SATA_READ);
    now = first;
    disk_expire(now);
    SAID(SATA_ABORT);
    CHECK(emitted[0].cookie == 0 && emitted[num_seen - 1].cookie == 0);
    hear_word(SATA_FROZEN);
    SAID(SATA_RECOVER);
    hear(SATA_FAILED, 0, &dropped, sizeof dropped);
    hear(SATA_FAILED, 1, &dropped, sizeof dropped);
    hear_word(SATA_RECOVER_FAIL); /* only a reset helps */
    SAID_NOTHING();
    now = disk_deadline();
    disk_expire(now);
    SAID(SATA_RESET);
}

int main(void)
{
    test_start();
    test_requests();
    test_flushes();
    test_lost_driver();
    test_unplugged();
    test_late();
    return 0;
}
