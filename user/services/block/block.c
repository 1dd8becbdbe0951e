/* The block service: the one client of a disk's driver, which gives each of its own clients, programs and guests' monitors, a part
 * of the disk. A client sees a disk of its own, by the protocol `sata`: what it has flushed is on the medium, it reaches no
 * sector outside its part, and its errors are its own. Clients, the driver and this process may end and be started anew
 * at any moment; what a driver has not answered is asked of the next one.
 *
 * In the description the process has `serves = "sata"` and `disk`, the driver; clients name it as their `disk`. The environment
 * says what each gets: `client.NAME=FIRST BYTES SHARE`. */
#include "ashlar/clients.h"
#include "ashlar/print.h"
#include "ashlar/string.h"

#include "block.h"
#include "disk.h"

/* Returns 0 if the environment says nothing of use about the client. */
static uint32_t read_client(uint32_t number)
{
    struct client *c = &client[number];

    c->at = client_value(number, 0);
    c->size = client_value(number, 1);
    c->weight = (uint32_t)client_value(number, 2);
    weights = weights + c->weight;
    if (c->size == 0u || c->weight == 0u) {
        print("BLOCK the part of %s is not understood\n", client_name(number));
        return 0;
    }
    return 1;
}

static void receive(uint32_t mailbox)
{
    switch (mailbox) {
    case SATA_START:
    case SATA_STOP:
    case SATA_UNPLUGGED_OK:
    case SATA_RESET:
    case SATA_IDENTIFY:
    case SATA_CONFIGURE:
    case SATA_READ:
    case SATA_WRITE:
    case SATA_ABORT:
    case SATA_RECOVER:
    case SATA_FLUSH:
    case SATA_STANDBY:
    case SATA_WAKE:
        client_receive(mailbox);
        break;
    case TIMER_FIRED:
        clients_tick();
        break;
    case 0:
        disk_expire();
        break;
    default:
        disk_receive(mailbox);
        break;
    }
}

#define ANY_MESSAGE                                                                                                    \
    SATA_START, SATA_STOP, SATA_UNPLUGGED_OK, SATA_RESET, SATA_IDENTIFY, SATA_CONFIGURE, SATA_READ, SATA_WRITE,        \
        SATA_ABORT, SATA_RECOVER, SATA_FLUSH, SATA_STANDBY, SATA_WAKE, DRIVER_UP, DRIVER_LOST, SATA_START_OK,          \
        SATA_START_FAIL, SATA_PLUGGED, SATA_UNPLUGGED, SATA_RESET_OK, SATA_RESET_FAIL, SATA_IDENTIFY_OK,               \
        SATA_IDENTIFY_FAIL, SATA_CONFIGURE_OK, SATA_CONFIGURE_FAIL, SATA_DONE, SATA_FAILED, SATA_FROZEN,               \
        SATA_RECOVERED, SATA_RECOVER_FAIL, SATA_FLUSH_OK, SATA_FLUSH_FAIL, TIMER_FIRED

void driver(void)
{
    uint32_t is_understood = 1;

    for (uint32_t i = 0; i < client_count() && i < CLIENTS; i = i + 1u) {
        is_understood = is_understood & read_client(i);
    }
    if (!is_understood) {
        __builtin_trap();
    }
    for (;;) {
        receive(AWAIT_UNTIL(disk_deadline(), ANY_MESSAGE));
        queue_go_on();
    }
}

const struct protocol *const driver_protocols[] = {&sata_protocol, &timer_protocol, 0};
const struct protocol *const client_protocols[] = {&sata_protocol, 0};
const struct driver_clients driver_clients = {SATA_NUMBER, CLIENTS, DATA_PAGES};
