/* Watches the disk of a driver: brings it up, reads its first sector and says how large it is; and again whenever the disk or the driver
 * has gone and come back. A client of `sata` that is written like a driver, so that `ashlar drivers verify` checks it against the
 * protocol as its client keeps to it. Each function below is a state of that protocol and returns the next one.
 *
 * Arguments: `sata`, the driver; `sata_pages`, at least 1, of the link's data area. */
#include "ashlar/driver.h"
#include "ashlar/print.h"
#include "sata_protocol.h"
#include "timer_protocol.h"

#define DRIVER_UP AT(SATA_NUMBER, MAIL_LINK_UP)
#define DRIVER_LOST AT(SATA_NUMBER, MAIL_LINK_LOST)

#define IDENTITY 0u  /* in the data area: where the disk's answer to IDENTIFY goes, */
#define SECTOR 4096u /* and its first sector */
#define PAUSE 10000000u

enum stage { UNLINKED, STOPPED, EMPTY, DETACHED, UNKNOWN, REACHED, IDENTIFIED, ACTIVE, FROZEN };

static uint64_t sectors;
static uint32_t sector_size;

/* Before something that has failed is tried again. */
static void rest(void)
{
    struct timer_arm body = {PAUSE};

    EMIT(TIMER_ARM, 0, &body);
    AWAIT(TIMER_FIRED);
}

static enum stage lost(void)
{
    print("WATCH the driver is lost\n");
    return UNLINKED;
}

static enum stage unlinked(void)
{
    AWAIT(DRIVER_UP);
    return STOPPED;
}

static enum stage stopped(void)
{
    EMIT(SATA_START);
    switch (AWAIT(SATA_START_OK, SATA_START_FAIL, DRIVER_LOST)) {
    case SATA_START_OK:
        return EMPTY;
    case SATA_START_FAIL:
        rest();
        return STOPPED;
    default:
        return lost();
    }
}

static enum stage empty(void)
{
    return AWAIT(SATA_PLUGGED, DRIVER_LOST) == SATA_PLUGGED ? UNKNOWN : lost();
}

static enum stage detached(void)
{
    print("WATCH the disk is gone\n");
    EMIT(SATA_UNPLUGGED_OK);
    return EMPTY;
}

static enum stage unknown(void)
{
    EMIT(SATA_RESET);
    switch (AWAIT(SATA_RESET_OK, SATA_RESET_FAIL, SATA_UNPLUGGED, DRIVER_LOST)) {
    case SATA_RESET_OK:
        return REACHED;
    case SATA_RESET_FAIL:
        rest();
        return UNKNOWN;
    case SATA_UNPLUGGED:
        return DETACHED;
    default:
        return lost();
    }
}

static enum stage reached(void)
{
    struct sata_identify body = {IDENTITY};

    EMIT(SATA_IDENTIFY, 0, &body);
    switch (AWAIT(SATA_IDENTIFY_OK, SATA_IDENTIFY_FAIL, SATA_UNPLUGGED, DRIVER_LOST)) {
    case SATA_IDENTIFY_OK:
        sectors = MAIL(sata_identify_ok)->sectors;
        sector_size = MAIL(sata_identify_ok)->sector_size;
        return IDENTIFIED;
    case SATA_IDENTIFY_FAIL:
        rest();
        return UNKNOWN;
    case SATA_UNPLUGGED:
        return DETACHED;
    default:
        return lost();
    }
}

static enum stage identified(void)
{
    struct sata_configure body = {1, 1};

    EMIT(SATA_CONFIGURE, 0, &body);
    switch (AWAIT(SATA_CONFIGURE_OK, SATA_CONFIGURE_FAIL, SATA_UNPLUGGED, DRIVER_LOST)) {
    case SATA_CONFIGURE_OK:
        return ACTIVE;
    case SATA_CONFIGURE_FAIL:
        rest();
        return UNKNOWN;
    case SATA_UNPLUGGED:
        return DETACHED;
    default:
        return lost();
    }
}

/* Reads the first sector, then waits for the disk's end. */
static enum stage active(void)
{
    struct sata_read body = {0, 1, SECTOR, 0};

    EMIT(SATA_READ, 0, &body);
    for (;;) {
        switch (AWAIT(SATA_DONE, SATA_FAILED, SATA_FROZEN, SATA_UNPLUGGED, DRIVER_LOST)) {
        case SATA_DONE:
            print("WATCH a disk of %lu sectors of %u bytes\n", sectors, sector_size);
            break;
        case SATA_FAILED:
            print("WATCH the first sector cannot be read\n");
            break;
        case SATA_FROZEN:
            return FROZEN;
        case SATA_UNPLUGGED:
            return DETACHED;
        default:
            return lost();
        }
    }
}

static enum stage frozen(void)
{
    EMIT(SATA_RECOVER);
    for (;;) {
        switch (AWAIT(SATA_DONE, SATA_FAILED, SATA_RECOVERED, SATA_RECOVER_FAIL, SATA_UNPLUGGED, DRIVER_LOST)) {
        case SATA_RECOVERED:
            return ACTIVE;
        case SATA_RECOVER_FAIL:
            return UNKNOWN;
        case SATA_UNPLUGGED:
            return DETACHED;
        case SATA_DONE:
        case SATA_FAILED:
            break;
        default:
            return lost();
        }
    }
}

void driver(void)
{
    enum stage stage = UNLINKED;

    for (;;) {
        switch (stage) {
        case UNLINKED:
            stage = unlinked();
            break;
        case STOPPED:
            stage = stopped();
            break;
        case EMPTY:
            stage = empty();
            break;
        case DETACHED:
            stage = detached();
            break;
        case UNKNOWN:
            stage = unknown();
            break;
        case REACHED:
            stage = reached();
            break;
        case IDENTIFIED:
            stage = identified();
            break;
        case ACTIVE:
            stage = active();
            break;
        case FROZEN:
            stage = frozen();
            break;
        }
    }
}

const struct protocol *const driver_protocols[] = {&timer_protocol, 0};
const struct protocol *const client_protocols[] = {&sata_protocol, 0};
