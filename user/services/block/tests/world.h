/* What the played driver, the played clients and the service share: letters on their way, the versions of sectors in the disk's cache
 * and on its medium, and the functions that the service is linked with. */
#ifndef WORLD_H
#define WORLD_H

#define PLAYERS 3u
#define PORT SATA_NUMBER
#define FIRST_PORT 8u
#define PAGE 4096u
#define NO_CLIENT 0xffffffffu
#define REGION 5u /* sectors that belong to a cookie of a client */
#define PART (COMMANDS * REGION)
#define FIRST 16u /* sector of the first part; between two are some of no client */
#define STEP (PART + 8u)
#define SECTORS (FIRST + PLAYERS * STEP)
#define SECTOR_BYTES 512u
#define QUEUE 4096u
#define CLIENT_AREA (COMMANDS * REGION * SECTOR_BYTES + IDENTITY_BYTES)
#define DEPTH 8u             /* of the disk's queue */
#define OUTSIDE (DEPTH - 1u) /* the cookie of commands that must fail */
#define UNKNOWN_VERSION 0xffffffffu

struct letter {
    uint32_t mailbox;
    uint64_t cookie;
    uint8_t payload[MAIL_PAYLOAD];
};

struct post {
    struct letter letter[QUEUE];
    uint32_t first, num;
};

/* What the player of a client knows. Each cookie has a region of the partition of its own. */
struct player {
    struct post in, out;
    struct monitor monitor;
    uint64_t open[4];
    uint32_t is_gone; /* its protocol is led to its end */
    enum { P_DOWN, P_STARTING, P_EMPTY, P_BUSY, P_ACTIVE, P_FROZEN, P_STOPPING } state;
    uint32_t is_flushing, is_sleeping, is_aborting;
    uint32_t is_open[COMMANDS], is_write[COMMANDS];
    uint32_t version[COMMANDS];  /* that was acknowledged last, or UNKNOWN_VERSION */
    uint32_t writing[COMMANDS];  /* the one that is asked for */
    uint32_t at_flush[COMMANDS]; /* what was acknowledged when the flush was asked for */
    uint32_t has_cache;
};

static struct random chance;
static uint8_t disk_area[DATA_PAGES * PAGE];
static uint8_t client_area[PLAYERS][CLIENT_AREA];
static struct player player[PLAYERS];
static uint32_t next_version;
static uint32_t num_answered, num_flushed, num_bad_seen, num_stops, num_wrecked, num_ticks;

/* The driver and its disk. */
static struct post to_driver, from_driver;
static struct monitor driver_monitor;
static uint64_t driver_open[4];
/* While it is slow it ends no command and no abort, and time passes. */
static uint32_t driver_is_slow, driver_is_aborting;
static uint32_t driver_is_up, has_disk, driver_state_frozen, bad_sector;
static uint32_t is_issued[SLOTS], issued_write[SLOTS];
static struct sata_read issued[SLOTS];
static uint32_t cache[SECTORS], medium[SECTORS]; /* versions */

static struct letter current_letter;
static struct mail current;
const struct mail *domain_current = &current;
static uint32_t in_turn; /* the client whose turn it is */
static uint32_t timer_is_armed;
static uint64_t timer_at;

static uint32_t below(uint32_t most)
{
    return (uint32_t)((random_next(&chance) >> 32) % most);
}

static void post_put(struct post *post, const struct letter *letter)
{
    CHECK(post->num < QUEUE);
    post->letter[(post->first + post->num) % QUEUE] = *letter;
    post->num++;
}

static int post_take(struct post *post, struct letter *letter)
{
    if (post->num == 0) {
        return 0;
    }
    *letter = post->letter[post->first];
    post->first = (post->first + 1) % QUEUE;
    post->num--;
    return 1;
}

static void post_empty(struct post *post)
{
    post->num = 0;
}

/* ---- what the service is linked with ---- */

static void to_client(uint32_t n, const struct letter *letter)
{
    CHECK(n < PLAYERS);
    struct player *p = &player[n];
    struct letter own = *letter;
    own.mailbox = AT(FIRST_PORT + n, letter->mailbox);
    enum monitor_verdict verdict = monitor_step(&p->monitor, own.mailbox, own.cookie, own.payload, 0);
    if (verdict != MONITOR_OK) {
        fprintf(stderr, "to client %u: %s in %s: %s\n", n, sata_protocol.messages[own.mailbox & 0xff].name,
                monitor_state(&p->monitor), monitor_explain(verdict));
        exit(1);
    }
    if (!p->is_gone) {
        post_put(&p->in, &own);
    }
}

void clients_emit_payload(uint32_t mailbox, uint64_t cookie, const void *body, uint64_t size)
{
    struct letter letter = {.mailbox = mailbox, .cookie = cookie};
    if (size != 0) {
        memcpy(letter.payload, body, size);
    }
    if (mailbox >> 8 == TIMER_NUMBER) {
        const struct timer_arm *arm = (const struct timer_arm *)letter.payload;
        CHECK(mailbox == TIMER_ARM && !timer_is_armed);
        timer_is_armed = 1;
        timer_at = now + arm->nanoseconds;
    } else if (sata_protocol.messages[mailbox & 0xff].is_incoming) {
        CHECK(driver_is_up); /* it would be lost */
        post_put(&to_driver, &letter);
    } else {
        to_client(clients_current(), &letter);
    }
}

void clients_emit(uint32_t mailbox, uint64_t cookie)
{
    clients_emit_payload(mailbox, cookie, 0, 0);
}

uint32_t clients_await_until(const struct mail_set *set, uint64_t time)
{
    (void)set, (void)time;
    abort();
}

uint32_t clients_current(void)
{
    CHECK(in_turn < CLIENTS);
    return in_turn;
}

void clients_turn_to(uint32_t n)
{
    CHECK(n < CLIENTS);
    in_turn = n;
}

uint32_t client_count(void)
{
    return PLAYERS;
}

const char *client_name(uint32_t n)
{
    (void)n;
    return "";
}

uint64_t client_value(uint32_t n, uint32_t which)
{
    (void)n, (void)which;
    return 0;
}

uint64_t time_now(void)
{
    return now;
}

static uint8_t *bytes_in(uint32_t area, uint64_t at, uint64_t bytes)
{
    if (area != DISK_AREA && (area >= PLAYERS || player[area].is_gone)) {
        return 0;
    }
    uint64_t size = area == DISK_AREA ? sizeof disk_area : CLIENT_AREA;
    uint8_t *data = area == DISK_AREA ? disk_area : client_area[area];
    return (area != DISK_AREA || driver_is_up) && at <= size && bytes <= size - at ? data + at : 0;
}

uint64_t area_size(uint32_t area)
{
    return area < PLAYERS && !player[area].is_gone ? CLIENT_AREA : 0;
}

uint32_t area_read(void *to, uint32_t area, uint64_t at, uint64_t bytes)
{
    const uint8_t *from = bytes_in(area, at, bytes);
    return from != 0 && memcpy(to, from, bytes) != 0;
}

uint32_t area_write(uint32_t area, uint64_t at, const void *from, uint64_t bytes)
{
    uint8_t *to = bytes_in(area, at, bytes);
    return to != 0 && memcpy(to, from, bytes) != 0;
}

uint32_t area_clear(uint32_t area, uint64_t at, uint64_t bytes)
{
    uint8_t *to = bytes_in(area, at, bytes);
    return to != 0 && memset(to, 0, bytes) != 0;
}

uint32_t area_copy(uint32_t to, uint64_t to_at, uint32_t from, uint64_t from_at, uint64_t bytes)
{
    uint8_t *target = bytes_in(to, to_at, bytes);
    const uint8_t *source = bytes_in(from, from_at, bytes);
    return target != 0 && source != 0 && memmove(target, source, bytes) != 0;
}

void print(const char *pattern, ...)
{
    (void)pattern;
}

#endif
