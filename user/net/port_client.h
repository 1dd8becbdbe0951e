/* A port of a switch as its client sees it: the driver's end of `ethernet`, whose frames wait until they are asked for.
 *
 * Written as drivers are, so that `ashlar drivers verify` checks it against the protocol, in `net_loop`, a program with one such port, and
 * in `switch`, with several. In port.c, too, EMIT goes to the one whose turn it is. */
#ifndef PORT_CLIENT_H
#define PORT_CLIENT_H

#include "ashlar/driver.h"
#include "ashlar/string.h"
#include "ethernet_protocol.h"

#define PORT_BUFFERS 256u /* `receive_slot` and `transmit_slot` of the protocol */
#define PORT_FRAME 1514u  /* bytes of a frame at most */
#define PORT_FRAME_LEAST 14u
#define PORT_SPEED 1000u /* Mbit/s that the card says */
#define PORT_SENT 0u     /* of transmit_done */
#define PORT_DROPPED 1u
#define PORT_REFUSED 1u /* of address_set */

/* A buffer of the client, with a frame or for one. What the client says of it is not believed. */
struct port_buffer {
    uint64_t cookie;
    uint32_t place;
    uint32_t length;
};

/* In the order in which they came. Counts of all ever: those from `done` to `came` are here. */
struct port_queue {
    uint32_t came;
    uint32_t done;
    struct port_buffer buffer[PORT_BUFFERS];
};

struct port_count {
    uint64_t from; /* frames that the client has sent, */
    uint64_t to;   /* that it was given, */
    uint64_t lost; /* and that it had no buffer for */
};

struct port {
    uint32_t is_served;
    uint32_t is_open;
    uint8_t address[6];
    struct port_queue lent; /* for frames to the client */
    struct port_queue sent; /* frames of the client */
    struct port_count count;
};

/* The oldest frame of the client is done with. Requires: there is one. */
static inline void port_done(struct port *port, uint8_t status)
{
    struct ethernet_transmit_done body = {status};
    uint64_t cookie = port->sent.buffer[port->sent.done % PORT_BUFFERS].cookie;

    port->sent.done = port->sent.done + 1u;
    EMIT(ETHERNET_TRANSMIT_DONE, cookie, &body);
}

/* The client has a frame of `bytes` in the oldest buffer that it has lent. Requires: there is one, and PORT_FRAME_LEAST to
 * PORT_FRAME bytes. */
static inline void port_give(struct port *port, uint32_t bytes)
{
    struct ethernet_received body = {(uint16_t)bytes, 0};
    uint64_t cookie = port->lent.buffer[port->lent.done % PORT_BUFFERS].cookie;

    port->lent.done = port->lent.done + 1u;
    port->count.to = port->count.to + 1u;
    EMIT(ETHERNET_RECEIVED, cookie, &body);
}

static inline void port_open(struct port *port)
{
    struct ethernet_link_up up = {PORT_SPEED, 1};
    struct ethernet_open_ok body = {{0}, 0};

    for (uint32_t i = 0; i < 6u; i = i + 1u) {
        body.address[i] = port->address[i];
    }
    port->is_open = 1;
    EMIT(ETHERNET_OPEN_OK, 0, &body);
    EMIT(ETHERNET_LINK_UP, 0, &up);
}

/* Every buffer goes back to the client. */
static inline void port_close(struct port *port)
{
    port->is_open = 0;
    for (uint32_t left = port->sent.came - port->sent.done; left != 0; left = left - 1u) {
        port_done(port, PORT_DROPPED);
    }
    for (uint32_t left = port->lent.came - port->lent.done; left != 0; left = left - 1u) {
        uint64_t cookie = port->lent.buffer[port->lent.done % PORT_BUFFERS].cookie;
        port->lent.done = port->lent.done + 1u;
        EMIT(ETHERNET_RECEIVE_RETURNED, cookie);
    }
    EMIT(ETHERNET_CLOSE_OK);
}

static inline void port_transmit(struct port *port)
{
    struct port_buffer *buffer = &port->sent.buffer[port->sent.came % PORT_BUFFERS];

    if (port->sent.came - port->sent.done < PORT_BUFFERS) { /* the protocol allows no more */
        buffer->cookie = COOKIE();
        buffer->place = MAIL(ethernet_transmit)->buffer;
        buffer->length = MAIL(ethernet_transmit)->length;
        port->sent.came = port->sent.came + 1u;
    }
}

static inline void port_lend(struct port *port)
{
    struct port_buffer *buffer = &port->lent.buffer[port->lent.came % PORT_BUFFERS];

    if (port->lent.came - port->lent.done < PORT_BUFFERS) {
        buffer->cookie = COOKIE();
        buffer->place = MAIL(ethernet_receive_buffer)->buffer;
        buffer->length = MAIL(ethernet_receive_buffer)->length;
        port->lent.came = port->lent.came + 1u;
    }
}

/* A client has the address that it was given, and no other. */
static inline void port_set_address(struct port *port)
{
    struct ethernet_address_set body = {0};
    uint8_t own[6] = {0};

    for (uint32_t i = 0; i < 6u; i = i + 1u) {
        own[i] = port->address[i];
    }
    if (memcmp(MAIL(ethernet_set_address)->address, own, sizeof own) != 0) {
        body.status = PORT_REFUSED;
    }
    EMIT(ETHERNET_ADDRESS_SET, 0, &body);
}

/* A client gets all frames that it is sent. */
static inline void port_set_filter(void)
{
    struct ethernet_filter_set body = {0};

    EMIT(ETHERNET_FILTER_SET, 0, &body);
}

static inline void port_tell_statistics(struct port *port)
{
    struct ethernet_statistics body = {port->count.from, port->count.to, port->count.lost, 0, 0};

    EMIT(ETHERNET_STATISTICS, 0, &body);
}

/* Takes in the message of the client that was awaited. */
static inline void port_receive(struct port *port, uint32_t mailbox)
{
    switch (mailbox) {
    case ETHERNET_OPEN:
        port_open(port);
        break;
    case ETHERNET_CLOSE:
        port_close(port);
        break;
    case ETHERNET_TRANSMIT:
        port_transmit(port);
        break;
    case ETHERNET_RECEIVE_BUFFER:
        port_lend(port);
        break;
    case ETHERNET_SET_FILTER:
        port_set_filter();
        break;
    case ETHERNET_SET_ADDRESS:
        port_set_address(port);
        break;
    case ETHERNET_GET_STATISTICS:
        port_tell_statistics(port);
        break;
    default:
        break;
    }
}

#endif
