/* The client of the port. Everything it asks for is done, or has failed, before the next message is looked at; only queued
 * commands stay under way. */
#include "ahci.h"

#define DISK 1u
#define PACKET_DEVICE 2u
#define ENCLOSURE 3u
#define MULTIPLIER 4u

enum port port;
uint32_t is_asleep;
uint32_t slots;
uint32_t depth;
uint64_t sectors;
uint32_t sector_size;
static uint32_t queue_depth; /* what the disk can do */
static uint8_t write_cache;
static uint32_t log_tells; /* the disk has stopped by itself, and its log says why */

void announce(void)
{
    if (port == EMPTY && disk_is_there()) {
        port = UNKNOWN;
        EMIT(SATA_PLUGGED);
    }
}

static void forget_commands(void)
{
    issued = 0;
    waiting = 0;
    is_asleep = 0;
}

void lose_disk(void)
{
    forget_commands();
    port = DETACHED;
    EMIT(SATA_UNPLUGGED);
}

void freeze(uint8_t reason)
{
    struct sata_frozen body = {reason};

    log_tells = reason == REASON_HARDWARE;
    port = FROZEN;
    EMIT(SATA_FROZEN, 0, &body);
}

/* ---- bringing the port and its disk up ---- */

static void start(uint32_t has_device)
{
    if (!has_device || dma_size(SATA_NUMBER) == 0u) {
        struct sata_start_fail body = {has_device ? REASON_HARDWARE : REASON_NO_DEVICE};
        EMIT(SATA_START_FAIL, 0, &body);
        return;
    }
    struct sata_start_ok body = {(uint8_t)slots, 0};
    reset_link();
    forget_commands();
    port = EMPTY;
    EMIT(SATA_START_OK, 0, &body);
    announce();
}

static uint8_t kind_of_device(void)
{
    uint32_t signature = read32(PX_SIG);

    if (signature == SIG_DISK) {
        return DISK;
    }
    if (signature == SIG_PACKET) {
        return PACKET_DEVICE;
    }
    return signature == SIG_ENCLOSURE ? ENCLOSURE : MULTIPLIER;
}

static void reset(void)
{
    forget_commands();
    if (reset_link()) {
        struct sata_reset_ok body = {kind_of_device()};
        port = REACHED;
        EMIT(SATA_RESET_OK, 0, &body);
    } else {
        struct sata_reset_fail body = {REASON_HARDWARE};
        port = UNKNOWN;
        EMIT(SATA_RESET_FAIL, 0, &body);
    }
}

/* What the disk says of itself. Returns 1 if it is one that the driver can use. */
static uint32_t understand_answer(void)
{
    uint32_t form = answer_word(ID_SECTOR_FORM);

    sectors = (uint64_t)answer_word(ID_SECTORS) | (uint64_t)answer_word(ID_SECTORS + 1u) << 16 |
              (uint64_t)answer_word(ID_SECTORS + 2u) << 32;
    queue_depth = (answer_word(ID_QUEUE_DEPTH) & 0x1fu) + 1u;
    sector_size = SECTOR;
    if ((form & ID_SECTOR_VALID) == ID_SECTOR_LONG) {
        sector_size = 2u * ((uint32_t)answer_word(ID_SECTOR_WORDS) | (uint32_t)answer_word(ID_SECTOR_WORDS + 1u) << 16);
    }
    return sectors != 0u && sector_size >= 512u && sector_size <= 4096u &&
           (answer_word(ID_SATA) & ID_SATA_QUEUED) != 0u && (answer_word(ID_COMMANDS) & ID_COMMANDS_LONG) != 0u;
}

static void identify(void)
{
    uint32_t buffer = MAIL(sata_identify)->buffer;
    uint32_t has_buffer = buffer % 2u == 0u && (uint64_t)buffer + SECTOR <= dma_size(SATA_NUMBER);

    if (has_buffer && execute(ATA_IDENTIFY, 0, 0, 0) && understand_answer()) {
        struct sata_identify_ok body = {sectors, sector_size, (uint8_t)queue_depth};
        volatile uint16_t *to = (volatile uint16_t *)dma_memory(SATA_NUMBER, buffer);
        for (uint32_t i = 0; i < SECTOR / 2u; i = i + 1u) {
            to[i] = answer_word(i);
        }
        port = IDENTIFIED;
        EMIT(SATA_IDENTIFY_OK, 0, &body);
    } else {
        struct sata_identify_fail body = {has_buffer ? REASON_HARDWARE : REASON_REQUEST};
        port = UNKNOWN;
        EMIT(SATA_IDENTIFY_FAIL, 0, &body);
    }
}

/* Also for a disk that a reset has made forget it. */
uint32_t configure_disk(void)
{
    return execute(ATA_SET_FEATURES, write_cache ? FEATURE_CACHE_ON : FEATURE_CACHE_OFF, 0, 0);
}

static void configure(void)
{
    depth = MAIL(sata_configure)->depth;
    if (depth > queue_depth) {
        depth = queue_depth;
    }
    write_cache = MAIL(sata_configure)->write_cache;
    if (configure_disk()) {
        port = ACTIVE;
        EMIT(SATA_CONFIGURE_OK);
    } else {
        struct sata_configure_fail body = {REASON_HARDWARE};
        port = UNKNOWN;
        EMIT(SATA_CONFIGURE_FAIL, 0, &body);
    }
}

/* ---- queued commands ---- */

static void fail(uint64_t cookie, uint64_t sector, uint8_t reason)
{
    struct sata_failed body = {reason, sector};
    EMIT(SATA_FAILED, cookie, &body);
}

static void open_command(uint8_t is_write)
{
    uint32_t slot = (uint32_t)COOKIE() % NUM_SLOT;
    struct command *c = &command[slot];

    c->sector = MAIL(sata_read)->sector;
    c->count = MAIL(sata_read)->count;
    c->buffer = MAIL(sata_read)->buffer;
    c->force = MAIL(sata_read)->force;
    c->is_write = is_write;
    if (port == FROZEN) {
        fail(slot, c->sector, REASON_DROPPED);
    } else if (port == WRECKED) {
        /* Sent before the client knew. It ends with a reset, or fails at a stop. */
        waiting = waiting | 1u << slot;
    } else if (!is_acceptable(slot)) {
        fail(slot, c->sector, REASON_REQUEST);
    } else if (is_asleep) {
        waiting = waiting | 1u << slot;
    } else {
        issue(slot);
    }
}

/* Asks the disk which command it was that stopped it. That one is not to be sent again. Returns 0 if the disk does not tell:
 * then only a reset makes sure that the others are not under way any more. */
static uint32_t read_error_log(void)
{
    if (!execute(ATA_READ_LOG, 0, LOG_QUEUE_ERROR, 1)) {
        return 0;
    }
    uint32_t first = answer_word(0);
    uint32_t slot = first & 0x1fu;
    uint64_t sector = (uint64_t)answer_word(2) | (uint64_t)(answer_word(3) & 0xffu) << 16 |
                      (uint64_t)answer_word(4) << 24 | (uint64_t)(answer_word(5) & 0xffu) << 40;
    if ((first & 0x80u) != 0u || (issued >> slot & 1u) == 0u) {
        return 0;
    }
    issued = issued & ~(1u << slot);
    fail(slot, sector, REASON_HARDWARE);
    return 1;
}

/* The queue is emptied and works again. Only after a reset has the disk surely let go of commands that it did not stop. */
static void recover(void)
{
    uint32_t is_well = 0;

    stop_port();
    if (log_tells) {
        start_port();
        is_well = read_error_log();
    }
    if (!is_well) {
        is_well = reset_link() && configure_disk();
    }
    if (is_well) {
        fail_all();
        port = ACTIVE;
        EMIT(SATA_RECOVERED);
    } else {
        forget_commands();
        port = WRECKED;
        EMIT(SATA_RECOVER_FAIL);
    }
}

/* ---- the cache, sleep, the end ---- */

static void flush(void)
{
    struct sata_flush_fail body = {0};

    if (port == ACTIVE) {
        drain();
        reap();
        if (issued == 0u && execute(ATA_FLUSH, 0, 0, 0)) {
            EMIT(SATA_FLUSH_OK);
            return;
        }
    }
    EMIT(SATA_FLUSH_FAIL, 0, &body);
}

static void standby(void)
{
    if (port == ACTIVE && issued == 0u && execute(ATA_STANDBY, 0, 0, 0)) {
        is_asleep = 1;
        EMIT(SATA_STANDBY_OK);
    } else {
        EMIT(SATA_STANDBY_FAIL);
    }
}

static void wake(void)
{
    if (port != ACTIVE || !execute(ATA_IDLE, 0, 0, 0)) {
        EMIT(SATA_WAKE_FAIL);
        return;
    }
    is_asleep = 0;
    for (uint32_t left = waiting; left != 0u; left = left & (left - 1u)) {
        issue(lowest_slot(left));
    }
    EMIT(SATA_WAKE_OK);
}

/* Buffers go back only when the disk has surely let go of them. */
static void stop(uint32_t has_device)
{
    if (has_device) {
        if (port == ACTIVE) {
            drain();
            reap();
        }
        if (issued != 0u) {
            reset_link();
        }
        quiet_adapter();
        if (port == ACTIVE || port == FROZEN || port == WRECKED) {
            fail_all();
        }
    }
    forget_commands();
    port = STOPPED;
    EMIT(SATA_STOP_OK);
}

/* ---- messages ---- */

/* What only a disk in use is asked for; what was sent before the client knew that it is not has no answer. */
static void serve_queue(uint32_t mailbox)
{
    switch (mailbox) {
    case SATA_READ:
        open_command(0);
        break;
    case SATA_WRITE:
        open_command(1);
        break;
    case SATA_ABORT:
        if (port == ACTIVE) {
            reap();
            freeze(REASON_DROPPED);
        }
        break;
    case SATA_FLUSH:
        flush();
        break;
    case SATA_STANDBY:
        standby();
        break;
    case SATA_WAKE:
        wake();
        break;
    default:
        break;
    }
}

static void serve_disk(uint32_t mailbox)
{
    switch (mailbox) {
    case SATA_RESET:
        reset();
        break;
    case SATA_IDENTIFY:
        identify();
        break;
    case SATA_CONFIGURE:
        configure();
        break;
    case SATA_RECOVER:
        recover();
        break;
    default:
        if (port == ACTIVE || port == FROZEN) {
            serve_queue(mailbox);
        } else if (port == WRECKED && (mailbox == SATA_READ || mailbox == SATA_WRITE)) {
            open_command(mailbox == SATA_WRITE);
        }
        break;
    }
}

/* One message of the client. `has_device`: the bus has given the adapter to the driver, and it works. */
void serve_client(uint32_t mailbox, uint32_t has_device)
{
    switch (mailbox) {
    case SATA_START:
        start(has_device);
        break;
    case SATA_STOP:
        stop(has_device);
        break;
    case SATA_UNPLUGGED_OK:
        port = EMPTY;
        if (has_device) {
            announce();
        }
        break;
    default:
        if (has_device && port != DETACHED) {
            serve_disk(mailbox);
        }
        break;
    }
}
