/* A disk without a device: a driver of the protocol `sata` whose medium is its own memory, zeros at first. For systems whose data need
 * not last, and for measurements: a request takes instructions, and nothing of an emulator's host.
 *
 * Argument: `sata`, the client. */
#include "ashlar/driver.h"
#include "ashlar/string.h"
#include "sata_protocol.h"

#define SECTOR 512u
#define SECTORS 24576u /* 12 MiB */
#define SLOTS 32u
#define KIND_DISK 1u
#define IDENTITY_SECTORS 200u /* byte */

enum { REASON_REQUEST = 2, REASON_DROPPED = 4 };

static uint8_t medium[SECTORS * SECTOR];
static uint32_t is_frozen; /* the client has aborted: nothing is done until it lets the queue recover */

static uint32_t is_in_area(uint32_t buffer, uint64_t bytes)
{
    return (uint64_t)buffer + bytes <= dma_size(SATA_NUMBER);
}

static void start(void)
{
    static const struct sata_start_ok body = {.slots = SLOTS};

    EMIT(SATA_START_OK, 0, &body);
    EMIT(SATA_PLUGGED);
}

static void identify(void)
{
    static const struct sata_identify_ok body = {SECTORS, SECTOR, SLOTS};
    static const struct sata_identify_fail failed = {REASON_REQUEST};
    const uint64_t sectors = SECTORS;
    uint32_t buffer = MAIL(sata_identify)->buffer;

    if (!is_in_area(buffer, SECTOR)) {
        EMIT(SATA_IDENTIFY_FAIL, 0, &failed);
        return;
    }
    uint8_t *identity = (uint8_t *)dma_memory(SATA_NUMBER, buffer);
    memset(identity, 0, SECTOR);
    memcpy(identity + IDENTITY_SECTORS, &sectors, sizeof sectors);
    EMIT(SATA_IDENTIFY_OK, 0, &body);
}

static void transfer(uint32_t is_write)
{
    const struct sata_read *body = (const struct sata_read *)MAIL(sata_read);
    const struct sata_failed failed = {is_frozen ? REASON_DROPPED : REASON_REQUEST, body->sector};
    uint64_t cookie = COOKIE(), bytes = (uint64_t)body->count * SECTOR;

    if (is_frozen || body->sector >= SECTORS || body->count > SECTORS - body->sector ||
        !is_in_area(body->buffer, bytes)) {
        EMIT(SATA_FAILED, cookie, &failed);
        return;
    }
    uint8_t *buffer = (uint8_t *)dma_memory(SATA_NUMBER, body->buffer);
    uint8_t *at = &medium[body->sector * SECTOR];
    if (is_write) {
        memcpy(at, buffer, bytes);
    } else {
        memcpy(buffer, at, bytes);
    }
    EMIT(SATA_DONE, cookie);
}

/* Every command is done when it is asked for, so there is none to abort. A second abort was sent before the client knew of the first. */
static void freeze(void)
{
    static const struct sata_frozen frozen = {REASON_DROPPED};

    if (!is_frozen) {
        is_frozen = 1;
        EMIT(SATA_FROZEN, 0, &frozen);
    }
}

static void serve(uint32_t mailbox)
{
    static const struct sata_reset_ok reset_ok = {KIND_DISK};

    switch (mailbox) {
    case SATA_START:
        is_frozen = 0;
        start();
        break;
    case SATA_STOP:
        EMIT(SATA_STOP_OK);
        break;
    case SATA_RESET:
        is_frozen = 0;
        EMIT(SATA_RESET_OK, 0, &reset_ok);
        break;
    case SATA_IDENTIFY:
        identify();
        break;
    case SATA_CONFIGURE:
        EMIT(SATA_CONFIGURE_OK);
        break;
    case SATA_READ:
    case SATA_WRITE:
        transfer(mailbox == SATA_WRITE);
        break;
    case SATA_FLUSH:
        EMIT(SATA_FLUSH_OK);
        break;
    case SATA_ABORT:
        freeze();
        break;
    case SATA_RECOVER:
        is_frozen = 0;
        EMIT(SATA_RECOVERED);
        break;
    case SATA_STANDBY:
        EMIT(SATA_STANDBY_OK);
        break;
    case SATA_WAKE:
        EMIT(SATA_WAKE_OK);
        break;
    default:
        break;
    }
}

void driver(void)
{
    for (;;) {
        serve(AWAIT(SATA_START, SATA_STOP, SATA_UNPLUGGED_OK, SATA_RESET, SATA_IDENTIFY, SATA_CONFIGURE, SATA_READ,
                    SATA_WRITE, SATA_ABORT, SATA_RECOVER, SATA_FLUSH, SATA_STANDBY, SATA_WAKE));
    }
}

const struct protocol *const driver_protocols[] = {&sata_protocol, 0};
