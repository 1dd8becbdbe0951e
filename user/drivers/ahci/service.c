/* Messages of the client. What takes its time is begun here, and is the port's job until it is done. */
#include "ahci.h"

static void start(void)
{
    if (dma_size(SATA_NUMBER) == 0u) {
        fail_start(REASON_HARDWARE);
    } else {
        job = STARTING;
    }
}

static void identify(void)
{
    identity = MAIL(sata_identify)->buffer;
    port = UNKNOWN;
    if (identity % 2u != 0u || (uint64_t)identity + SECTOR > dma_size(SATA_NUMBER)) {
        fail_identify(REASON_REQUEST);
    } else {
        job = IDENTIFYING;
    }
}

static void configure(void)
{
    depth = MAIL(sata_configure)->depth;
    if (depth > queue_depth) {
        depth = queue_depth;
    }
    write_cache = MAIL(sata_configure)->write_cache;
    port = UNKNOWN;
    job = CONFIGURING;
}

static void flush(void)
{
    if (port == ACTIVE) {
        job = DRAINING;
    } else {
        fail_flush();
    }
}

/* A disk that is busy does not fall asleep. The message has to be taken all the same: commands that the client sends after it
 * are, and would seem to have come before. */
static void standby(void)
{
    if (port == ACTIVE && issued == 0u && job == NONE) {
        job = FALLING_ASLEEP;
    } else {
        EMIT(SATA_STANDBY_FAIL);
    }
}

static void wake(void)
{
    if (port == ACTIVE) {
        job = WAKING;
    } else {
        EMIT(SATA_WAKE_FAIL);
    }
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
    } else if (is_asleep || job != NONE) {
        waiting = waiting | 1u << slot;
    } else {
        issue(slot);
    }
}

/* ---- messages ---- */

/* What only a disk in use is asked for, and can be while it is busy; what was sent before the client knew that it is not in use has
 * no answer. Returns 1 if the queue is stopped by it. */
uint32_t serve_queue(uint32_t mailbox)
{
    switch (mailbox) {
    case SATA_READ:
    case SATA_WRITE:
        if (port >= ACTIVE) {
            open_command(mailbox == SATA_WRITE);
        }
        return 0;
    case SATA_ABORT:
        if (port == ACTIVE) {
            if (job == NONE && !port_has_error()) {
                reap(); /* a job has just done so */
            }
            freeze(REASON_DROPPED);
            return 1;
        }
        return 0;
    default:
        if (port == ACTIVE || port == FROZEN) {
            standby();
        }
        return 0;
    }
}

static void serve_disk(uint32_t mailbox)
{
    switch (mailbox) {
    case SATA_RESET:
        forget_commands();
        port = UNKNOWN;
        job = RESETTING;
        break;
    case SATA_IDENTIFY:
        identify();
        break;
    case SATA_CONFIGURE:
        configure();
        break;
    case SATA_RECOVER:
        job = RECOVERING;
        break;
    case SATA_FLUSH:
        if (port == ACTIVE || port == FROZEN) {
            flush();
        }
        break;
    case SATA_WAKE:
        if (port == ACTIVE || port == FROZEN) {
            wake();
        }
        break;
    default:
        serve_queue(mailbox);
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
        job = port == ACTIVE ? ENDING : STOPPING;
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
