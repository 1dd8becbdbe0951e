/* The driver's end of `ethernet` at several links. What a client says is not believed: buffers must lie in its own data area, and a
 * frame is copied out before anything looks at it, since the client may be writing it. */
#include "ashlar/net_port.h"

#include "ashlar/domain.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ethernet_protocol.h"

#define FIRST_PORT 8u  /* of the domain: those below have the numbers of protocols */
#define MOST_LENT 256u /* `receive_slot` of the protocol; a power of two */
#define SENT 0u        /* of transmit_done */
#define DROPPED 1u
#define SPEED 1000u /* Mbit/s that the card says */

/* A buffer that a client has lent. */
struct lent {
    uint64_t cookie;
    uint32_t buffer;
    uint32_t length;
};

struct port {
    uint32_t is_served, is_open;
    uint8_t address[6];
    struct lent lent[MOST_LENT]; /* in the order in which they came */
    uint32_t first, num_lent;
    struct net_port_count count;
};

static struct port port[NET_PORTS];
static struct mail_set everything;
static uint32_t has_started;

_Static_assert(FIRST_PORT + NET_PORTS <= DOMAIN_PORTS, "each client has a port of the domain");

const struct net_port_count *net_port_count(uint32_t number)
{
    return &port[number].count;
}

void net_port_serve(uint32_t number, const char *client, const uint8_t address[6])
{
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
    everything.mask[FIRST_PORT + number] = ~0ul;
}

static void emit(uint32_t number, uint32_t mailbox, uint64_t cookie, const void *payload, uint32_t bytes)
{
    uint32_t at = AT(FIRST_PORT + number, mailbox);
    void *place = domain_emit_begin(at, cookie);
    if (bytes != 0) {
        memcpy(place, payload, bytes);
    }
    domain_emit_end(at, cookie);
}

/* The client's bytes, or null if they are not all in its data area. */
static uint8_t *bytes_of(uint32_t number, uint32_t buffer, uint32_t length)
{
    uint64_t size = 0;
    uint8_t *data = domain_data(FIRST_PORT + number, &size);

    return data != 0 && length <= size && buffer <= size - length ? data + buffer : 0;
}

static void open_port(uint32_t number)
{
    static const struct ethernet_link_up up = {.megabits = SPEED, .duplex = 1};
    struct ethernet_open_ok body = {.features = 0};

    memcpy(body.address, port[number].address, sizeof body.address);
    port[number].num_lent = 0;
    port[number].is_open = 1;
    emit(number, ETHERNET_OPEN_OK, 0, &body, sizeof body);
    emit(number, ETHERNET_LINK_UP, 0, &up, sizeof up);
}

static struct lent *oldest(struct port *p)
{
    return &p->lent[p->first % MOST_LENT];
}

static void close_port(uint32_t number)
{
    struct port *p = &port[number];

    p->is_open = 0;
    while (p->num_lent != 0) {
        emit(number, ETHERNET_RECEIVE_RETURNED, oldest(p)->cookie, 0, 0);
        p->first++;
        p->num_lent--;
    }
    emit(number, ETHERNET_CLOSE_OK, 0, 0, 0);
}

static void lend(struct port *p)
{
    const struct ethernet_receive_buffer *body = (const struct ethernet_receive_buffer *)domain_current->payload;

    if (p->num_lent < MOST_LENT) { /* the protocol allows no more */
        p->lent[(p->first + p->num_lent) % MOST_LENT] =
            (struct lent){domain_current->cookie, body->buffer, body->length};
        p->num_lent++;
    }
}

/* Copies the frame that the client sends. Returns its bytes, or 0 if it sends none that could be. */
static uint32_t take(uint32_t number, uint8_t *frame)
{
    const struct ethernet_transmit *body = (const struct ethernet_transmit *)domain_current->payload;
    uint64_t cookie = domain_current->cookie;
    uint32_t bytes = body->length;
    const uint8_t *from = bytes_of(number, body->buffer, bytes);
    uint32_t is_good = from != 0 && bytes >= NET_PORT_FRAME_LEAST && bytes <= NET_PORT_FRAME && port[number].is_open;
    struct ethernet_transmit_done done = {.status = is_good ? SENT : DROPPED};

    if (is_good) {
        memcpy(frame, from, bytes);
        port[number].count.from++;
    }
    emit(number, ETHERNET_TRANSMIT_DONE, cookie, &done, sizeof done);
    return is_good ? bytes : 0;
}

static void tell_statistics(uint32_t number)
{
    const struct net_port_count *count = &port[number].count;
    struct ethernet_statistics body = {.sent = count->from, .received = count->to, .missed = count->lost};

    emit(number, ETHERNET_STATISTICS, 0, &body, sizeof body);
}

/* Takes the message of the client. Returns the bytes of a frame, or 0 if it was something else. */
static uint32_t receive(uint32_t number, uint32_t message, uint8_t *frame)
{
    static const struct ethernet_filter_set filter;
    static const struct ethernet_address_set address;

    switch (AT(ETHERNET_NUMBER, message)) {
    case ETHERNET_OPEN:
        open_port(number);
        return 0;
    case ETHERNET_CLOSE:
        close_port(number);
        return 0;
    case ETHERNET_TRANSMIT:
        return take(number, frame);
    case ETHERNET_RECEIVE_BUFFER:
        lend(&port[number]);
        return 0;
    case ETHERNET_SET_FILTER: /* a client gets all frames that it is sent */
        emit(number, ETHERNET_FILTER_SET, 0, &filter, sizeof filter);
        return 0;
    case ETHERNET_SET_ADDRESS:
        emit(number, ETHERNET_ADDRESS_SET, 0, &address, sizeof address);
        return 0;
    case ETHERNET_GET_STATISTICS:
        tell_statistics(number);
        return 0;
    default:
        return 0;
    }
}

uint32_t net_port_await(uint8_t *frame, uint32_t *bytes, uint64_t deadline)
{
    for (;;) {
        uint32_t mailbox = domain_await(&everything, deadline);
        if (mailbox == DOMAIN_TIMEOUT) {
            return NET_PORT_NONE;
        }
        uint32_t number = (mailbox >> 8) - FIRST_PORT;
        *bytes = receive(number, mailbox, frame);
        if (*bytes != 0) {
            return number;
        }
    }
}

uint32_t net_port_send(uint32_t number, const uint8_t *frame, uint32_t bytes)
{
    struct ethernet_received body = {.length = (uint16_t)bytes};
    uint8_t *to = 0;

    if (number >= NET_PORTS || port[number].is_open == 0 || bytes < NET_PORT_FRAME_LEAST || bytes > NET_PORT_FRAME) {
        return 0;
    }
    struct port *p = &port[number];
    if (p->num_lent != 0 && bytes <= oldest(p)->length) {
        to = bytes_of(number, oldest(p)->buffer, bytes);
    }
    if (to == 0) {
        p->count.lost++;
        return 0;
    }
    memcpy(to, frame, bytes);
    emit(number, ETHERNET_RECEIVED, oldest(p)->cookie, &body, sizeof body);
    p->first++;
    p->num_lent--;
    p->count.to++;
    return 1;
}
