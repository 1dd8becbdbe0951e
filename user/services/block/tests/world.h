/* What the played driver, the played clients and the service share: letters on their way, the versions of sectors in the disk's cache
 * and on its medium, and the functions that the service is linked with. */
#ifndef WORLD_H
#define WORLD_H

#define CLIENTS 3u
#define REGION 5u /* sectors that belong to a cookie of a client */
#define PART (NUM_COMMAND * REGION)
#define FIRST 16u /* sector of the first part; between two are some of no client */
#define STEP (PART + 8u)
#define SECTORS (FIRST + CLIENTS * STEP)
#define SECTOR_BYTES 512u
#define QUEUE 4096u
#define CLIENT_AREA (NUM_COMMAND * REGION * SECTOR_BYTES + IDENTITY_BYTES)
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
    uint32_t is_open[NUM_COMMAND], is_write[NUM_COMMAND];
    uint32_t version[NUM_COMMAND];  /* that was acknowledged last, or UNKNOWN_VERSION */
    uint32_t writing[NUM_COMMAND];  /* the one that is asked for */
    uint32_t at_flush[NUM_COMMAND]; /* what was acknowledged when the flush was asked for */
    uint32_t has_cache;
};

static struct random chance;
static uint8_t disk_area[DATA_PAGES * PAGE];
static uint8_t client_area[CLIENTS][CLIENT_AREA];
static struct player player[CLIENTS];
static uint32_t next_version;
static uint32_t num_answered, num_flushed, num_bad_seen, num_stops;

/* The driver and its disk. */
static struct post to_driver, from_driver;
static struct monitor driver_monitor;
static uint64_t driver_open[4];
/* While it is slow it ends no command and no abort, and time passes. */
static uint32_t driver_is_slow, driver_is_aborting;
static uint32_t driver_is_up, has_disk, driver_state_frozen, bad_sector;
static uint32_t is_issued[NUM_SLOT], issued_write[NUM_SLOT];
static struct sata_read issued[NUM_SLOT];
static uint32_t cache[SECTORS], medium[SECTORS]; /* versions */

static struct letter current_letter;
static struct mail current;
const struct mail *domain_current = &current;
static uint32_t emit_is_dropped;
static struct letter emitting;

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

void domain_start(void)
{
}

void domain_serve_at(uint32_t at, const struct protocol *protocol, const char *name, const char *share_name)
{
    (void)at, (void)protocol, (void)name, (void)share_name;
}

void domain_connect(uint32_t port, const char *driver, const struct protocol *protocol, uint32_t capacity,
                    uint32_t pages)
{
    (void)port, (void)driver, (void)protocol, (void)capacity, (void)pages;
}

uint32_t domain_await(const struct mail_set *set, uint64_t deadline)
{
    (void)set, (void)deadline;
    abort();
}

void *domain_data(uint32_t port, uint64_t *bytes)
{
    if (port == PORT) {
        *bytes = sizeof disk_area;
        return driver_is_up ? disk_area : 0;
    }
    *bytes = CLIENT_AREA;
    return player[port - FIRST_PORT].is_gone ? 0 : client_area[port - FIRST_PORT];
}

void *domain_emit_begin(uint32_t mailbox, uint64_t cookie)
{
    memset(&emitting, 0, sizeof emitting);
    emitting.mailbox = mailbox;
    emitting.cookie = cookie;
    emit_is_dropped = mailbox >> 8 == PORT && !driver_is_up;
    return emitting.payload;
}

void domain_emit_end(uint32_t mailbox, uint64_t cookie)
{
    (void)cookie;
    if (mailbox >> 8 == PORT) {
        CHECK(driver_is_up); /* it would be lost */
        post_put(&to_driver, &emitting);
        return;
    }
    struct player *p = &player[(mailbox >> 8) - FIRST_PORT];
    enum monitor_verdict verdict = monitor_step(&p->monitor, mailbox, emitting.cookie, emitting.payload, 0);
    if (verdict != MONITOR_OK) {
        fprintf(stderr, "to client %u: %s in %s: %s\n", (mailbox >> 8) - FIRST_PORT,
                sata_protocol.messages[mailbox & 0xff].name, monitor_state(&p->monitor), monitor_explain(verdict));
        exit(1);
    }
    if (!p->is_gone) {
        post_put(&p->in, &emitting);
    }
}

void print(const char *pattern, ...)
{
    (void)pattern;
}

void panic(const char *pattern, ...)
{
    fputs(pattern, stderr);
    exit(1);
}

void env_name(char *buffer, size_t size)
{
    (void)size;
    buffer[0] = 0;
}

long env_arg(const char *name, char *buffer, size_t size)
{
    (void)name, (void)buffer, (void)size;
    return -1;
}

const char *env_text_entry(const char *text, const char *prefix, uint32_t index, size_t *key_length, const char **value,
                           size_t *value_length)
{
    (void)text, (void)prefix, (void)index, (void)key_length, (void)value, (void)value_length;
    return 0;
}

size_t env_text_number(const char *value, size_t length, uint64_t *number)
{
    (void)value, (void)length, (void)number;
    return 0;
}

size_t format(char *buffer, size_t size, const char *pattern, ...)
{
    (void)size, (void)pattern;
    buffer[0] = 0;
    return 0;
}

#endif
