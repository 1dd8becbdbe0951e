/* A network with one station: an interface, without a card, that hands back each frame that its client sends. A server of `ethernet` for
 * one client, around the functions by which the service `switch` serves each of its clients: so `ashlar drivers verify` checks these
 * against the protocol.
 *
 * Argument: `ethernet`, the client. */
#include "ashlar/driver.h"
#include "ethernet_protocol.h"

#include "../../net/port_client.h"

static struct port port = {.address = {2, 0, 0, 0, 0, 1}};

static uint32_t is_in_area(uint32_t place, uint32_t bytes)
{
    return (uint64_t)place + bytes <= dma_size(ETHERNET_NUMBER);
}

static void copy(uint32_t to, uint32_t from, uint32_t bytes)
{
    volatile uint8_t *target = dma_memory(ETHERNET_NUMBER, to);
    const volatile uint8_t *source = dma_memory(ETHERNET_NUMBER, from);

    for (uint32_t i = 0; i < bytes; i = i + 1u) {
        target[i] = source[i];
    }
}

/* Hands the oldest frame back, if there is a buffer for it. */
static void hand_back(void)
{
    uint32_t frame = port.sent.buffer[port.sent.done % PORT_BUFFERS].place;
    uint32_t bytes = port.sent.buffer[port.sent.done % PORT_BUFFERS].length;
    uint32_t buffer = port.lent.buffer[port.lent.done % PORT_BUFFERS].place;
    uint32_t room = port.lent.buffer[port.lent.done % PORT_BUFFERS].length;
    uint32_t is_frame = bytes >= PORT_FRAME_LEAST && bytes <= PORT_FRAME && is_in_area(frame, bytes);

    if (is_frame && port.lent.done != port.lent.came && bytes <= room && is_in_area(buffer, bytes)) {
        copy(buffer, frame, bytes);
        port_give(&port, bytes);
    }
    port.count.from = port.count.from + 1u;
    port_done(&port, is_frame ? PORT_SENT : PORT_DROPPED);
}

void driver(void)
{
    for (;;) {
        uint32_t mailbox = AWAIT(ETHERNET_OPEN, ETHERNET_CLOSE, ETHERNET_TRANSMIT, ETHERNET_RECEIVE_BUFFER,
                                 ETHERNET_SET_FILTER, ETHERNET_SET_ADDRESS, ETHERNET_GET_STATISTICS);
        port_receive(&port, mailbox);
        while (port.is_open && port.sent.done != port.sent.came) {
            hand_back();
        }
    }
}

const struct protocol *const driver_protocols[] = {&ethernet_protocol, 0};
