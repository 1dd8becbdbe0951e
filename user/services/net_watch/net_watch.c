/* Watches the network of a driver: says when the link is up or down, sends a frame to all stations each time that it comes up, and
 * counts what is received. A client of `ethernet` that is written like a driver, around the functions by which the service `switch`
 * speaks to its card's driver: so `ashlar drivers verify` checks these against the protocol as its client keeps to it.
 *
 * Arguments: `ethernet`, the driver; `ethernet_pages`, at least 64, of the link's data area. */
#include "ashlar/driver.h"
#include "ashlar/print.h"
#include "ethernet_protocol.h"
#include "timer_protocol.h"

#include "../switch/uplink.h"

#define LOCAL_EXPERIMENT 0x88b5u /* type of a frame without a protocol */

static uint64_t num_received;

/* A frame to all stations, from none in particular. */
static void greet(void)
{
    uint32_t buffer = uplink_free();

    if (buffer < UPLINK_BUFFERS) {
        volatile uint8_t *frame = dma_memory(ETHERNET_NUMBER, buffer * UPLINK_BUFFER);
        for (uint32_t i = 0; i < UPLINK_FRAME_LEAST; i = i + 1u) {
            frame[i] = i < 6u ? 0xffu : 0u;
        }
        frame[6] = 2;
        frame[12] = LOCAL_EXPERIMENT >> 8;
        frame[13] = LOCAL_EXPERIMENT & 0xffu;
        uplink_send(buffer, UPLINK_FRAME_LEAST);
    }
}

static void frame_came(void)
{
    uint64_t buffer = COOKIE();

    num_received = num_received + 1u;
    print("WATCH frame %lu, %u bytes\n", num_received, MAIL(ethernet_received)->length);
    uplink_lend((uint32_t)buffer);
}

void driver(void)
{
    for (;;) {
        uint32_t mailbox = AWAIT(DRIVER_UP, DRIVER_LOST, ETHERNET_OPEN_OK, ETHERNET_OPEN_FAIL, ETHERNET_CLOSE_OK,
                                 ETHERNET_LINK_UP, ETHERNET_LINK_DOWN, ETHERNET_GONE, ETHERNET_FILTER_SET,
                                 ETHERNET_TRANSMIT_DONE, ETHERNET_RECEIVED, ETHERNET_RECEIVE_RETURNED, TIMER_FIRED);
        switch (uplink_receive(mailbox)) {
        case UPLINK_FRAME_CAME:
            frame_came();
            break;
        case UPLINK_IS_UP:
            print("WATCH the network is up\n");
            greet();
            break;
        case UPLINK_IS_DOWN:
            print("WATCH the network is down\n");
            break;
        case UPLINK_NOTHING:
            break;
        }
    }
}

const struct protocol *const driver_protocols[] = {&timer_protocol, 0};
const struct protocol *const client_protocols[] = {&ethernet_protocol, 0};
