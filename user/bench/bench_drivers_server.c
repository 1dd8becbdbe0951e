/* The driver's side of the benchmark of messages: an ethernet driver without a device, which sends every frame at once. */
#include "ashlar/driver.h"
#include "ethernet_protocol.h"

void driver(void)
{
    struct ethernet_open_ok open_ok = {{0}, 0};
    struct ethernet_transmit_done transmit_done = {0};
    struct ethernet_statistics statistics = {0};

    for (;;) {
        switch (AWAIT(ETHERNET_OPEN, ETHERNET_TRANSMIT, ETHERNET_GET_STATISTICS)) {
        case ETHERNET_OPEN:
            EMIT(ETHERNET_OPEN_OK, 0, &open_ok);
            break;
        case ETHERNET_TRANSMIT:
            statistics.sent++;
            EMIT(ETHERNET_TRANSMIT_DONE, COOKIE(), &transmit_done);
            break;
        case ETHERNET_GET_STATISTICS:
            EMIT(ETHERNET_STATISTICS, 0, &statistics);
            break;
        default:
            break;
        }
    }
}

const struct protocol *const driver_protocols[] = {&ethernet_protocol, 0};
