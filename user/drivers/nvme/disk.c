/* The client of the disk. Everything it asks for is done, or has failed, before the next message is looked at; only reads and
 * writes stay under way. */
#include "nvme.h"

#define KIND_DISK 1u

enum port port;
static uint32_t is_asleep; /* commands wait until the client wakes the disk */

void announce(void)
{
    if (port == EMPTY && name_space != 0u) {
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

    port = FROZEN;
    EMIT(SATA_FROZEN, 0, &body);
}

/* ---- bringing the disk up ---- */

static void fail_start(uint8_t reason)
{
    struct sata_start_fail body = {reason};
    EMIT(SATA_START_FAIL, 0, &body);
}

/* A controller that does not work is started again by the reset that follows. */
static void start(void)
{
    struct sata_start_ok body = {NUM_SLOT, 0};

    if (dma_size(SATA_NUMBER) == 0u) {
        fail_start(REASON_HARDWARE);
        return;
    }
    forget_commands();
    port = EMPTY;
    EMIT(SATA_START_OK, 0, &body);
    announce();
}

void was_reset(void)
{
    if (is_up && name_space != 0u) {
        struct sata_reset_ok body = {KIND_DISK};
        port = REACHED;
        EMIT(SATA_RESET_OK, 0, &body);
    } else {
        struct sata_reset_fail body = {REASON_HARDWARE};
        port = UNKNOWN;
        EMIT(SATA_RESET_FAIL, 0, &body);
    }
}

static void fail_identify(uint8_t reason)
{
    struct sata_identify_fail body = {reason};

    port = UNKNOWN;
    EMIT(SATA_IDENTIFY_FAIL, 0, &body);
}

static void identify(void)
{
    identity = MAIL(sata_identify)->buffer;
    if (identity % 2u != 0u || (uint64_t)identity + IDENTITY_SIZE > dma_size(SATA_NUMBER)) {
        fail_identify(REASON_REQUEST);
    } else {
        life = IDENTIFYING;
    }
}

void identified(uint32_t is_good)
{
    if (is_good && sector_size >= 512u && sector_size <= 4096u) {
        struct sata_identify_ok body = {sectors, sector_size, NUM_SLOT};
        port = IDENTIFIED;
        EMIT(SATA_IDENTIFY_OK, 0, &body);
    } else {
        fail_identify(REASON_HARDWARE);
    }
}

static void configure(void)
{
    depth = MAIL(sata_configure)->depth;
    write_cache = MAIL(sata_configure)->write_cache;
    life = CONFIGURING;
}

void configured(uint32_t is_good)
{
    if (is_good) {
        port = ACTIVE;
        EMIT(SATA_CONFIGURE_OK);
    } else {
        struct sata_configure_fail body = {REASON_HARDWARE};
        port = UNKNOWN;
        EMIT(SATA_CONFIGURE_FAIL, 0, &body);
    }
}

/* ---- commands ---- */

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
    c->tries = 0;
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

/* Only after a restart has the controller surely let go of commands that it has not completed. */
void recovered(uint32_t is_good)
{
    if (is_good) {
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

static void fail_flush(void)
{
    struct sata_flush_fail body = {0};
    EMIT(SATA_FLUSH_FAIL, 0, &body);
}

/* After a flush without an answer the next one could take its answer for its own. */
void was_flushed(void)
{
    if (flushed == FLUSHED) {
        EMIT(SATA_FLUSH_OK);
        return;
    }
    fail_flush();
    if (flushed != FLUSH_FAILED) {
        freeze(REASON_HARDWARE);
    }
}

/* A disk without moving parts needs no more than to have nothing to do; what it saves then is its own choice. */
void fell_asleep(void)
{
    if (flushed == FLUSHED) {
        is_asleep = 1;
        EMIT(SATA_STANDBY_OK);
        return;
    }
    EMIT(SATA_STANDBY_FAIL);
    if (flushed != FLUSH_FAILED) {
        freeze(REASON_HARDWARE);
    }
}

static void wake(void)
{
    if (port != ACTIVE) {
        EMIT(SATA_WAKE_FAIL);
        return;
    }
    is_asleep = 0;
    for (uint32_t left = waiting; left != 0u; left = left & (left - 1u)) {
        issue(lowest_slot(left));
    }
    EMIT(SATA_WAKE_OK);
}

/* Buffers go back: the controller has let go of them. */
void stopped(void)
{
    if (port == ACTIVE || port == FROZEN || port == WRECKED) {
        fail_all();
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
            freeze(REASON_DROPPED);
        }
        break;
    case SATA_FLUSH:
        if (port == ACTIVE) {
            life = FLUSHING;
        } else {
            fail_flush();
        }
        break;
    case SATA_STANDBY:
        if (port == ACTIVE) {
            life = FALLING_ASLEEP;
        } else {
            EMIT(SATA_STANDBY_FAIL);
        }
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
        forget_commands();
        life = RESETTING;
        break;
    case SATA_IDENTIFY:
        identify();
        break;
    case SATA_CONFIGURE:
        configure();
        break;
    case SATA_RECOVER:
        life = RECOVERING;
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

void serve_client(uint32_t mailbox)
{
    switch (mailbox) {
    case SATA_START:
        start();
        break;
    case SATA_STOP:
        life = STOPPING;
        break;
    case SATA_UNPLUGGED_OK:
        port = EMPTY;
        announce();
        break;
    default:
        if (port != DETACHED) {
            serve_disk(mailbox);
        }
        break;
    }
}

void turn_away(uint32_t mailbox)
{
    switch (mailbox) {
    case SATA_START:
        fail_start(REASON_NO_DEVICE);
        break;
    case SATA_STOP:
        forget_commands();
        port = STOPPED;
        EMIT(SATA_STOP_OK);
        break;
    case SATA_UNPLUGGED_OK:
        port = EMPTY;
        break;
    default:
        break;
    }
}
