/* The driver's end of `ethernet` at several links. What a client says is not believed: buffers must lie in its own data area, and a
 * frame's header is copied out before anything looks at it, since the client may be writing it. */
#include <stdint.h>

/* What EMIT sends from here on goes to this client's port of the domain. */
static uint32_t current;
#include "ashlar/domain.h"
#define domain_emit(mailbox, cookie, body, size) domain_send(AT(current, mailbox), cookie, body, size)

#include "ashlar/env.h"
#include "ashlar/net_port.h"
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "port_client.h"

#define FIRST_PORT 8u /* of the domain: those below have the numbers of protocols */

static struct port port[NET_PORTS];
static struct mail_set everything;
static uint32_t turn; /* the port whose frame net_port_await() takes next */

_Static_assert(FIRST_PORT + NET_PORTS <= DOMAIN_PORTS, "each client has a port of the domain");
_Static_assert(NET_PORT_FRAME == PORT_FRAME && NET_PORT_FRAME_LEAST == PORT_FRAME_LEAST, "one size of frames");

/* The client's state; EMIT sends to it. */
static struct port *turn_to(uint32_t number)
{
    current = FIRST_PORT + number;
    return &port[number];
}

struct net_port_count net_port_count(uint32_t number)
{
    const struct port_count *count = &port[number].count;
    return (struct net_port_count){.from = count->from, .to = count->to, .lost = count->lost};
}

uint32_t net_port_is_open(uint32_t number)
{
    return port[number].is_open;
}

uint32_t net_port_buffers(uint32_t number)
{
    return port[number].is_open ? port[number].lent.came - port[number].lent.done : 0;
}

void net_port_wait_for(struct mail_set *set)
{
    for (uint32_t number = 0; number < NET_PORTS; number++) {
        set->mask[FIRST_PORT + number] |= port[number].is_served ? ~0ul : 0;
    }
}

void net_port_serve(uint32_t number, const char *client, const uint8_t address[6])
{
    static uint32_t has_started;
    char self[32];
    char share[80];

    if (number >= NET_PORTS || port[number].is_served) {
        panic("port %u of the switch is none, or taken\n", number);
    }
    if (has_started == 0) {
        has_started = 1;
        domain_start();
    }
    env_name(self, sizeof self);
    format(share, sizeof share, "%s-ethernet-%s", self, client);
    port[number].is_served = 1;
    memcpy(port[number].address, address, 6);
    domain_serve_at(FIRST_PORT + number, &ethernet_protocol, client, share);
    net_port_wait_for(&everything);
}

void net_port_receive(uint32_t mailbox)
{
    port_receive(turn_to((mailbox >> 8) - FIRST_PORT), AT(ETHERNET_NUMBER, mailbox));
}

/* The client's bytes, or null if they are not all in its data area. */
static uint8_t *bytes_of(uint32_t number, uint32_t place, uint32_t length)
{
    uint64_t size = 0;
    uint8_t *data = domain_data(FIRST_PORT + number, &size);

    return data != 0 && length <= size && place <= size - length ? data + place : 0;
}

uint32_t net_port_first(uint32_t number, struct net_frame *frame)
{
    const struct port_queue *sent = &port[number].sent;
    const struct port_buffer *oldest = &sent->buffer[sent->done % PORT_BUFFERS];

    if (sent->came == sent->done) {
        return 0;
    }
    uint32_t is_good = oldest->length >= PORT_FRAME_LEAST && oldest->length <= PORT_FRAME;
    frame->bytes = is_good ? bytes_of(number, oldest->place, oldest->length) : 0;
    frame->length = frame->bytes != 0 ? oldest->length : 0;
    if (frame->bytes != 0) {
        memcpy(frame->header, frame->bytes, NET_PORT_HEADER);
    }
    return 1;
}

void net_port_done(uint32_t number, uint32_t was_sent)
{
    struct port *p = turn_to(number);

    p->count.from += was_sent != 0;
    port_done(p, was_sent ? PORT_SENT : PORT_DROPPED);
}

uint32_t net_port_give(uint32_t number, const struct net_frame *frame)
{
    uint32_t bytes = frame->length;
    uint8_t *to = 0;

    if (number >= NET_PORTS || port[number].is_open == 0 || bytes < PORT_FRAME_LEAST || bytes > PORT_FRAME) {
        return 0;
    }
    struct port *p = turn_to(number);
    const struct port_buffer *oldest = &p->lent.buffer[p->lent.done % PORT_BUFFERS];
    if (p->lent.came != p->lent.done && bytes <= oldest->length) {
        to = bytes_of(number, oldest->place, bytes);
    }
    if (to == 0) {
        p->count.lost++;
        return 0;
    }
    memcpy(to, frame->header, NET_PORT_HEADER);
    memcpy(to + NET_PORT_HEADER, frame->bytes + NET_PORT_HEADER, bytes - NET_PORT_HEADER);
    port_give(p, bytes);
    return 1;
}

uint32_t net_port_send(uint32_t number, const uint8_t *bytes, uint32_t length)
{
    struct net_frame frame = {.bytes = bytes, .length = length};

    if (length >= NET_PORT_HEADER) {
        memcpy(frame.header, bytes, NET_PORT_HEADER);
    }
    return net_port_give(number, &frame);
}

/* Takes the oldest frame of the next port that has one. Returns the port, or NET_PORT_NONE if no frame waits. */
static uint32_t take_next(uint8_t *bytes, uint32_t *length)
{
    struct net_frame frame;

    for (uint32_t i = 0; i < NET_PORTS; i++) {
        uint32_t number = (turn + i) % NET_PORTS;
        while (net_port_first(number, &frame)) {
            if (frame.length != 0) {
                memcpy(bytes, frame.header, NET_PORT_HEADER);
                memcpy(bytes + NET_PORT_HEADER, frame.bytes + NET_PORT_HEADER, frame.length - NET_PORT_HEADER);
            }
            net_port_done(number, frame.length != 0);
            if (frame.length != 0) {
                *length = frame.length;
                turn = number + 1;
                return number;
            }
        }
    }
    return NET_PORT_NONE;
}

uint32_t net_port_await(uint8_t *frame, uint32_t *bytes, uint64_t deadline)
{
    for (;;) {
        uint32_t number = take_next(frame, bytes);
        if (number != NET_PORT_NONE) {
            return number;
        }
        uint32_t mailbox = domain_await(&everything, deadline);
        if (mailbox == DOMAIN_TIMEOUT) {
            return NET_PORT_NONE;
        }
        net_port_receive(mailbox);
    }
}
