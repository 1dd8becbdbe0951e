/* Writes a part of a disk with queued requests of random sizes at random places, flushes the disk's cache, reads everything
 * back in other random pieces and compares it; at last puts the disk to sleep, wakes it, and stops the port. What is lost on
 * the way, because the disk failed or the driver was ended for example, is sent again.
 *
 * Arguments: `driver`, unless the description has `disk`; `bytes` (default 16M); `rounds`, how often all of it is done (default 1); `depth`, requests at a time
 * (default what the disk can do); `cache`, the disk's write cache (default 1); `sectors` of each request (default 0: a random
 * number); `check`, 0 to measure the disk alone: then nothing is filled in or compared (default 1). */
#include "ashlar/domain.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/random.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"
#include "sata_protocol.h"

#define PORT SATA_NUMBER
#define NUM_SLOT 32u
#define SLOT_BYTES 65536u
#define IDENTITY (NUM_SLOT * SLOT_BYTES) /* where the disk's answer to IDENTIFY goes */
#define DATA_PAGES (NUM_SLOT * SLOT_BYTES / 4096u + 1u)
#define RING_CAPACITY 128u
#define NUM_STRIPE 4u /* parts of the disk that requests alternate between */
#define MAX_TRIES 8u
#define TIMEOUT 20000000000ul /* ns: until a request is aborted */
#define LONG 1000000000ul     /* ... until the user hears of a flush */
#define PAUSE 10000000ul

enum phase { WRITING, FLUSHING, READING, CLOSING };
enum slot_state { FREE, OPEN, LOST };

struct slot {
    enum slot_state state;
    uint32_t count;
    uint32_t tries;
    uint64_t sector;
};

/* Sectors of a part that were not asked for yet. */
struct stripe {
    uint64_t next;
    uint64_t end;
};

static struct slot slot[NUM_SLOT];
static struct stripe stripe[NUM_STRIPE];
static struct random random_state;
static enum phase phase;
static int is_active; /* the disk takes requests */
static int is_asking; /* for a flush, or the disk's sleep */
static uint8_t *data;
static uint64_t seed;  /* of what is written in this round */
static uint64_t total; /* bytes */
static uint32_t sector_size;
static uint32_t most_slots;
static uint32_t depth;
static uint64_t num_request;
static uint32_t num_open;
static uint32_t most_open;
static uint32_t num_failed;
static uint32_t num_lost;
static uint64_t rounds;
static uint64_t fixed_sectors; /* of each request; 0: random */
static int is_checked;
static uint64_t began;

static void emit(uint32_t mailbox, uint64_t cookie, const void *payload, size_t bytes)
{
    void *place = domain_emit_begin(mailbox, cookie);
    if (bytes != 0) {
        memcpy(place, payload, bytes);
    }
    domain_emit_end(mailbox, cookie);
}

static void say(uint32_t mailbox)
{
    emit(mailbox, 0, 0, 0);
}

/* ---- requests ---- */

static uint64_t word_of(uint64_t sector, uint32_t index)
{
    return (seed + sector * 1024u + index) * 0x9e3779b97f4a7c15ul;
}

static void fill(const struct slot *s, uint64_t *words)
{
    for (uint32_t i = 0; i < s->count; i++) {
        for (uint32_t j = 0; j < sector_size / 8; j++) {
            *words++ = word_of(s->sector + i, j);
        }
    }
}

static void compare(const struct slot *s, const uint64_t *words)
{
    for (uint32_t i = 0; i < s->count; i++) {
        for (uint32_t j = 0; j < sector_size / 8; j++) {
            uint64_t is = *words++;
            if (is != word_of(s->sector + i, j)) {
                panic("DISK sector %lu has changed: word %u is %lx\n", s->sector + i, j, is);
            }
        }
    }
}

static void send(uint32_t index)
{
    struct slot *s = &slot[index];
    struct sata_read body = {s->sector, s->count, index * SLOT_BYTES, phase == WRITING && s->count % 8 == 1};

    if (!is_checked) {
        body.force = 0;
    } else if (phase == WRITING) {
        fill(s, (uint64_t *)(data + index * SLOT_BYTES));
    } else {
        memset(data + index * SLOT_BYTES, 0, s->count * sector_size);
    }
    s->state = OPEN;
    num_request++;
    num_open++;
    most_open = num_open > most_open ? num_open : most_open;
    emit(phase == WRITING ? SATA_WRITE : SATA_READ, index, &body, sizeof body);
}

/* The next piece of some stripe, in the slot. Returns 0 if everything was asked for. */
static int choose(struct slot *s)
{
    uint32_t first = (uint32_t)(random_next(&random_state) >> 32);

    for (uint32_t i = 0; i < NUM_STRIPE; i++) {
        struct stripe *from = &stripe[(first + i) % NUM_STRIPE];
        uint64_t left = from->end - from->next;
        if (left != 0) {
            uint64_t count = fixed_sectors;
            if (count == 0) {
                count = 1 + (random_next(&random_state) >> 32) % (SLOT_BYTES / sector_size);
            }
            s->sector = from->next;
            s->count = (uint32_t)(count < left ? count : left);
            s->tries = 0;
            from->next += s->count;
            return 1;
        }
    }
    return 0;
}

static void begin_phase(enum phase next)
{
    uint64_t sectors = total / sector_size;

    phase = next;
    is_asking = 0;
    for (uint32_t i = 0; i < NUM_STRIPE; i++) {
        stripe[i].next = sectors * i / NUM_STRIPE;
        stripe[i].end = sectors * (i + 1) / NUM_STRIPE;
    }
}

static void begin_round(void)
{
    seed = random_next(&random_state);
    began = sys_clock();
    begin_phase(WRITING);
}

static void end_round(void)
{
    uint64_t milliseconds = (sys_clock() - began) / 1000000 + 1;

    print("DISK %lu bytes written and %s, %lu ms, %lu KiB/s, %lu requests, up to %u at a time, %u failed, "
          "all lost %u times\n",
          total, is_checked ? "verified" : "read", milliseconds, 2 * total * 1000 / 1024 / milliseconds, num_request,
          most_open, num_failed, num_lost);
    rounds--;
    if (rounds != 0) {
        begin_round();
    } else {
        phase = CLOSING;
    }
}

/* Keeps the disk busy. When everything was asked for and is done, goes on to the next phase. */
static void work(void)
{
    while (is_active && !is_asking) {
        for (uint32_t i = 0; i < depth; i++) {
            if (slot[i].state == LOST ||
                (slot[i].state == FREE && phase != FLUSHING && phase != CLOSING && choose(&slot[i]))) {
                send(i);
            }
        }
        if (num_open != 0) {
            return;
        }
        if (phase == WRITING) {
            begin_phase(FLUSHING);
        } else if (phase == READING) {
            end_round();
        } else {
            is_asking = 1;
            say(phase == FLUSHING ? SATA_FLUSH : SATA_STANDBY);
        }
    }
}

static struct slot *named_slot(void)
{
    uint64_t cookie = domain_current->cookie;

    if (cookie >= NUM_SLOT || slot[cookie].state != OPEN) {
        panic("DISK the driver answers request %lu, which is not open\n", cookie);
    }
    num_open--;
    return &slot[cookie];
}

static void done(void)
{
    struct slot *s = named_slot();

    if (phase == READING && is_checked) {
        compare(s, (const uint64_t *)(data + (uint64_t)(s - slot) * SLOT_BYTES));
    }
    s->state = FREE;
}

static void failed(void)
{
    struct slot *s = named_slot();

    num_failed++;
    s->state = LOST;
    s->tries++;
    if (s->tries == MAX_TRIES) {
        panic("DISK %u sectors from %lu on failed %u times\n", s->count, s->sector, MAX_TRIES);
    }
}

/* Nothing of what was open will be answered. */
static void lose_all(void)
{
    is_active = 0;
    is_asking = 0;
    num_open = 0;
    for (uint32_t i = 0; i < NUM_SLOT; i++) {
        if (slot[i].state == OPEN) {
            slot[i].state = LOST;
        }
    }
}

/* ---- the port ---- */

static void again(uint32_t mailbox)
{
    sys_sleep(sys_clock() + PAUSE);
    say(mailbox);
}

static void configure(void)
{
    const struct sata_identify_ok *disk = (const struct sata_identify_ok *)domain_current->payload;
    struct sata_configure body = {disk->depth, (uint8_t)env_arg_u64("cache", 1)};
    int is_first = sector_size == 0;

    sector_size = disk->sector_size;
    depth = disk->depth < most_slots ? disk->depth : most_slots;
    if (env_arg_u64("depth", depth) < depth) {
        depth = (uint32_t)env_arg_u64("depth", depth);
    }
    if (sector_size < 512 || sector_size > 4096 || disk->sectors < total / sector_size) {
        panic("DISK %lu sectors of %u bytes are too few\n", disk->sectors, sector_size);
    }
    if (fixed_sectors > SLOT_BYTES / sector_size) {
        panic("DISK a request has at most %u bytes\n", SLOT_BYTES);
    }
    print("DISK up, %lu sectors of %u bytes, %u requests at a time\n", disk->sectors, sector_size, depth);
    if (is_first) {
        begin_round();
    }
    emit(SATA_CONFIGURE, 0, &body, sizeof body);
}

static void receive(uint32_t mailbox)
{
    static const struct sata_identify identify = {IDENTITY};
    uint64_t bytes = 0;

    switch (mailbox) {
    case AT(PORT, MAIL_LINK_UP):
        data = domain_data(PORT, &bytes);
        say(SATA_START);
        break;
    case AT(PORT, MAIL_LINK_LOST):
        print("DISK the driver is lost\n");
        num_lost++;
        lose_all();
        break;
    case SATA_START_OK:
        most_slots = ((const struct sata_start_ok *)domain_current->payload)->slots;
        break;
    case SATA_START_FAIL:
        again(SATA_START);
        break;
    case SATA_PLUGGED:
        say(SATA_RESET);
        break;
    case SATA_UNPLUGGED:
        print("DISK the disk is gone\n");
        num_lost++;
        lose_all();
        say(SATA_UNPLUGGED_OK);
        break;
    case SATA_RESET_OK:
        emit(SATA_IDENTIFY, 0, &identify, sizeof identify);
        break;
    case SATA_IDENTIFY_OK:
        configure();
        break;
    case SATA_RESET_FAIL:
    case SATA_IDENTIFY_FAIL:
    case SATA_CONFIGURE_FAIL:
        again(SATA_RESET);
        break;
    case SATA_CONFIGURE_OK:
        is_active = 1;
        break;
    case SATA_DONE:
        done();
        break;
    case SATA_FAILED:
        failed();
        break;
    case SATA_FROZEN:
        print("DISK the queue has stopped, reason %u\n", ((const struct sata_frozen *)domain_current->payload)->reason);
        is_active = 0;
        say(SATA_RECOVER);
        break;
    case SATA_RECOVERED:
        print("DISK the queue works again\n");
        is_active = 1;
        break;
    case SATA_RECOVER_FAIL:
        lose_all();
        again(SATA_RESET);
        break;
    case SATA_FLUSH_OK:
        begin_phase(READING);
        break;
    case SATA_FLUSH_FAIL:
        print("DISK the flush has failed\n");
        is_asking = 0;
        break;
    case SATA_STANDBY_FAIL:
        is_asking = 0;
        break;
    case SATA_STANDBY_OK:
        say(SATA_WAKE);
        break;
    case SATA_WAKE_FAIL:
        again(SATA_WAKE);
        break;
    case SATA_WAKE_OK:
        say(SATA_STOP);
        break;
    case SATA_STOP_OK:
        is_active = 0;
        print("DISK done\n");
        break;
    default:
        panic("DISK message %x was not expected\n", mailbox);
    }
}

static void abort_oldest(void)
{
    for (uint32_t i = 0; i < NUM_SLOT; i++) {
        if (is_active && slot[i].state == OPEN) {
            print("DISK request %u takes too long\n", i);
            emit(SATA_ABORT, i, 0, 0);
            return;
        }
    }
}

static uint64_t deadline(void)
{
    if (num_open != 0) {
        return sys_clock() + TIMEOUT;
    }
    return phase == FLUSHING && is_asking ? sys_clock() + LONG : DEADLINE_NEVER;
}

int main(void)
{
    char driver[32];
    struct mail_set everything = {{0}};

    if (env_arg("disk", driver, sizeof driver) < 0 && env_arg("driver", driver, sizeof driver) < 0) {
        panic("argument driver is missing\n");
    }
    total = env_arg_u64("bytes", 16 << 20);
    rounds = env_arg_u64("rounds", 1);
    fixed_sectors = env_arg_u64("sectors", 0);
    is_checked = env_arg_u64("check", 1) != 0;
    random_state.state = sys_clock() | 1;
    everything.mask[PORT] = ~0ul;
    domain_start();
    domain_connect(PORT, driver, &sata_protocol, RING_CAPACITY, DATA_PAGES);
    for (;;) {
        uint32_t mailbox = domain_await(&everything, deadline());
        if (mailbox == DOMAIN_TIMEOUT && num_open == 0) {
            print("DISK the flush takes long\n");
        } else if (mailbox == DOMAIN_TIMEOUT) {
            abort_oldest();
        } else {
            receive(mailbox);
            work();
        }
    }
}
