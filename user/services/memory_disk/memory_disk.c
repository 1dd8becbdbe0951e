/* A disk without a device: a driver of the protocol `sata` whose medium is its own memory, zeros at first. For systems whose data need
 * not last, and for measurements: a request takes instructions, and nothing of an emulator's host.
 *
 * Arguments: `sata`, the client; `bytes`, the disk's size (default 8M), for which the quota is to have room. */
#include "abi.h"
#include "ashlar/driver.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"
#include "sata_protocol.h"

#define SECTOR 512u
#define MEDIUM_ADDRESS 0x4000000000ul
#define SLOTS 32u
#define KIND_DISK 1u
#define IDENTITY_SECTORS 200u /* byte */
#define REASON_REQUEST 2u

static uint8_t *const medium = (uint8_t *)MEDIUM_ADDRESS;
static uint64_t sectors; /* of the disk */

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
    const struct sata_identify_ok body = {sectors, SECTOR, SLOTS};
    static const struct sata_identify_fail failed = {REASON_REQUEST};
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
    const struct sata_failed failed = {REASON_REQUEST, body->sector};
    uint64_t cookie = COOKIE(), bytes = (uint64_t)body->count * SECTOR;

    if (body->sector >= sectors || body->count > sectors - body->sector || !is_in_area(body->buffer, bytes)) {
        EMIT(SATA_FAILED, cookie, &failed);
        return;
    }
    uint8_t *buffer = (uint8_t *)dma_memory(SATA_NUMBER, body->buffer);
    uint8_t *at = medium + body->sector * SECTOR;
    memcpy(is_write ? at : buffer, is_write ? buffer : at, bytes);
    EMIT(SATA_DONE, cookie);
}

static void serve(uint32_t mailbox)
{
    static const struct sata_reset_ok reset_ok = {KIND_DISK};
    static const struct sata_frozen frozen;

    switch (mailbox) {
    case SATA_START:
        start();
        break;
    case SATA_STOP:
        EMIT(SATA_STOP_OK);
        break;
    case SATA_RESET:
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
        EMIT(SATA_FROZEN, 0, &frozen);
        break;
    case SATA_RECOVER:
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
    uint64_t bytes = env_arg_u64("bytes", 8ul << 20) / PAGE_SIZE * PAGE_SIZE;

    if (sys_mem_map(MEDIUM_ADDRESS, bytes / PAGE_SIZE, PROT_READ | PROT_WRITE) != STATUS_OK) {
        panic("DISK %lu bytes of memory cannot be had: raise the quota, or lower `args.bytes`\n", bytes);
    }
    sectors = bytes / SECTOR;
    for (;;) {
        serve(AWAIT(SATA_START, SATA_STOP, SATA_UNPLUGGED_OK, SATA_RESET, SATA_IDENTIFY, SATA_CONFIGURE, SATA_READ,
                    SATA_WRITE, SATA_ABORT, SATA_RECOVER, SATA_FLUSH, SATA_STANDBY, SATA_WAKE));
    }
}

const struct protocol *const driver_protocols[] = {&sata_protocol, 0};
