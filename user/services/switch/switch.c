/* A network switch: hands frames between its clients, guests and programs, and the machine's card, its uplink, if it has one.
 *
 * Each client has one hardware address, and sends from it alone: frames from another are refused. Frames to a group, and to a station that
 * is not known, go to all others. A client's frames wait at its own port until its turn comes; see shares.h. What is lost is lost
 * at the receiver that has no buffer left for this sender, and counted.
 *
 * The environment says who the clients are: `client.NAME=ADDRESS WEIGHT`. Argument: `uplink`, the card's driver. On its console
 * `status` prints what was counted. */
#include "ashlar/clients.h"
#include "ashlar/print.h"
#include "ethernet_protocol.h"
#include "timer_protocol.h"

#include "../../net/port_client.h"
#include "shares.h"
#include "table.h"
#include "uplink.h"

#define CLIENTS CLIENTS_MOST
#define UPLINK CLIENTS          /* its number as a source and as a receiver */
#define MESSAGES_AT_ONCE 96u    /* that are taken in between two rounds */
#define HEADER PORT_FRAME_LEAST /* bytes: addresses and type */
#define ADDRESS_BYTES 6u

_Static_assert(UPLINK < SHARE_SOURCES && CLIENTS <= TABLE_FIXED, "each source has its share, each client its station");

/* What becomes of the frames of a source. */
struct count {
    uint64_t handed_on; /* a frame to several receivers once for each */
    uint64_t refused;   /* from an address that is not the source's, or no frame at all */
    uint64_t lost;      /* at a receiver without a buffer for it */
};

/* A frame where its sender has it. The header is a copy: the sender may be changing the rest. */
struct frame {
    uint64_t place; /* in the source's data area */
    uint32_t bytes; /* 0: what the source has sent is no frame */
    uint8_t header[HEADER];
};

static struct port port[CLIENTS];
static uint32_t num_client;
static uint64_t address[CLIENTS];
static struct count count[SHARE_SOURCES];
static struct shares shares;
static struct work work;
static struct room room[SHARE_SOURCES]; /* by receiver */
static struct table table;
/* Frames of the uplink wait in their buffers, a bit each. The driver fills buffers in the order in which it was lent them, so they are
 * taken round and round, from `next_came` on. */
static uint64_t came;
static uint32_t next_came;
static uint32_t came_bytes[UPLINK_BUFFERS];
static uint64_t now; /* ns since boot, when the round began */

static const char *name_of(uint32_t source)
{
    return source == UPLINK ? "the uplink" : client_name(source);
}

static uint32_t area_of(uint32_t source)
{
    return source == UPLINK ? AREA_OF_DRIVER(ETHERNET_NUMBER) : source;
}

/* ---- the uplink's frames ---- */

static void uplink_event(uint32_t mailbox)
{
    uint64_t buffer = COOKIE();

    switch (uplink_receive(mailbox)) {
    case UPLINK_FRAME_CAME: /* below UPLINK_BUFFERS */
        came = came | 1ul << buffer;
        came_bytes[buffer] = MAIL(ethernet_received)->length;
        break;
    case UPLINK_IS_UP:
        print("SWITCH the uplink is up\n");
        break;
    case UPLINK_IS_DOWN:
        print("SWITCH the uplink is down\n");
        table_forget(&table, UPLINK);
        break;
    case UPLINK_NOTHING:
        break;
    }
    if (!uplink_is_up() && uplink_stage != UPLINK_OPEN) {
        came = 0; /* the buffers are the driver's no more, nor are the frames in them */
    }
}

/* Requires: a frame waits. */
static uint32_t oldest_came(void)
{
    uint64_t later = came & ~0ul << next_came;

    return (uint32_t)__builtin_ctzll(later != 0u ? later : came);
}

static void uplink_done(void)
{
    if (came != 0u) {
        uint32_t buffer = oldest_came();
        came = came & ~(1ul << buffer);
        next_came = (buffer + 1u) % UPLINK_BUFFERS;
        uplink_lend(buffer);
    }
}

static uint32_t uplink_give(uint32_t source, const struct frame *frame)
{
    uint32_t buffer = uplink_free();
    uint32_t to = buffer * UPLINK_BUFFER;
    uint32_t bytes = frame->bytes;

    if (buffer == UPLINK_NONE || !area_write(area_of(UPLINK), to, frame->header, HEADER) ||
        !area_copy(area_of(UPLINK), to + HEADER, area_of(source), frame->place + HEADER, bytes - HEADER)) {
        return 0;
    }
    if (bytes < UPLINK_FRAME_LEAST) { /* not what an earlier frame held */
        area_clear(area_of(UPLINK), to + bytes, UPLINK_FRAME_LEAST - bytes);
        bytes = UPLINK_FRAME_LEAST;
    }
    uplink_send(buffer, bytes);
    return 1;
}

/* ---- the clients' frames ---- */

/* Gives the client a frame. Returns 0 if it has no buffer for it, or is not there. */
static uint32_t client_give(uint32_t client, uint32_t source, const struct frame *frame)
{
    TURN_TO(client);
    struct port *p = &port[CLIENT()];
    uint32_t to = p->lent.buffer[p->lent.done % PORT_BUFFERS].place;
    uint32_t room_there = p->lent.buffer[p->lent.done % PORT_BUFFERS].length;
    uint32_t bytes = frame->bytes;

    if (!p->is_open || p->lent.came == p->lent.done || bytes > room_there || bytes < PORT_FRAME_LEAST ||
        bytes > PORT_FRAME || !area_write(client, to, frame->header, HEADER) ||
        !area_copy(client, to + HEADER, area_of(source), frame->place + HEADER, bytes - HEADER)) {
        p->count.lost = p->count.lost + 1u;
        return 0;
    }
    port_give(p, bytes);
    return 1;
}

/* Its oldest frame is done with. */
static void client_done(uint32_t client, uint32_t was_good)
{
    TURN_TO(client);
    struct port *p = &port[CLIENT()];

    if (p->is_open && p->sent.came != p->sent.done) {
        p->count.from = p->count.from + (was_good != 0u);
        port_done(p, was_good ? PORT_SENT : PORT_DROPPED);
    }
}

/* ---- any source, any receiver ---- */

/* The oldest frame of the source. Returns 0 if none waits. */
static uint32_t first_of(uint32_t source, struct frame *frame)
{
    if (source == UPLINK) {
        if (came == 0u) {
            return 0;
        }
        frame->place = (UPLINK_BUFFERS + oldest_came()) * UPLINK_BUFFER;
        frame->bytes = came_bytes[oldest_came()];
    } else {
        const struct port_queue *sent = &port[source].sent;
        frame->place = sent->buffer[sent->done % PORT_BUFFERS].place;
        frame->bytes = sent->buffer[sent->done % PORT_BUFFERS].length;
        if (sent->came == sent->done) {
            return 0;
        }
    }
    /* A driver, too, says anything of a frame's length. */
    if (frame->bytes < PORT_FRAME_LEAST || frame->bytes > PORT_FRAME ||
        !area_read(frame->header, area_of(source), frame->place, HEADER)) {
        frame->bytes = 0;
    }
    return 1;
}

static void done_with(uint32_t source, uint32_t was_good)
{
    if (source == UPLINK) {
        uplink_done();
    } else {
        client_done(source, was_good);
    }
}

/* A client that has not opened its card gets nothing. */
static uint32_t buffers_of(uint32_t receiver)
{
    if (receiver == UPLINK) {
        return uplink_room();
    }
    return port[receiver].is_open ? port[receiver].lent.came - port[receiver].lent.done : 0u;
}

static void give(uint32_t source, uint32_t receiver, const struct frame *frame)
{
    uint32_t is_given = 0;

    room_fill(&room[receiver], &shares, receiver, buffers_of(receiver));
    if (room_take(&room[receiver], source)) {
        is_given = receiver == UPLINK ? uplink_give(source, frame) : client_give(receiver, source, frame);
    }
    if (is_given) {
        count[source].handed_on = count[source].handed_on + 1u;
    } else {
        count[source].lost = count[source].lost + 1u;
    }
}

/* Whether the source may send from this address: a client from its own, the uplink from any that is no client's. */
static uint32_t may_send(uint32_t source, uint64_t from)
{
    if (source != UPLINK) {
        return from == address[source];
    }
    return !address_is_group(from) && table_client(&table, from) == TABLE_NONE;
}

static uint32_t number_of(uint32_t receivers)
{
    uint32_t number = 0;

    for (; receivers != 0u; receivers = receivers & (receivers - 1u)) {
        number = number + 1u;
    }
    return number;
}

/* The receivers of a frame: a bit each. */
static uint32_t receivers_of(uint32_t source, uint64_t to)
{
    uint32_t all = uplink_is_up() ? 1u << UPLINK : 0u;
    uint32_t station = address_is_group(to) ? TABLE_NONE : table_find(&table, to, now);

    if (address_is_link_local(to)) {
        return 0;
    }
    for (uint32_t client = 0; client < num_client; client = client + 1u) {
        all = all | (port[client].is_open != 0u) << client;
    }
    return (station == TABLE_NONE ? all : all & 1u << station) & ~(1u << source);
}

/* Numbers that double: a flood does not fill the console. */
static void refuse(uint32_t source)
{
    uint64_t refused = count[source].refused + 1u;

    count[source].refused = refused;
    if ((refused & (refused - 1u)) == 0u) {
        print("SWITCH refused from %s: %lu\n", name_of(source), refused);
    }
}

static void hand_on(uint32_t source, const struct frame *frame, uint32_t receivers)
{
    for (; receivers != 0u; receivers = receivers & (receivers - 1u)) {
        give(source, (uint32_t)__builtin_ctz(receivers), frame);
    }
}

/* Hands on the source's frames until it has had its turn. Returns 1 if some are left for the next one. */
static uint32_t serve(uint32_t source)
{
    struct frame frame;

    work_begin(&work, &shares, source);
    for (uint32_t left = PORT_BUFFERS; left != 0u && first_of(source, &frame); left = left - 1u) {
        uint64_t from = station_address(frame.header + ADDRESS_BYTES);
        uint32_t is_good = frame.bytes != 0u && may_send(source, from);
        uint32_t receivers = is_good ? receivers_of(source, station_address(frame.header)) : 0u;
        if (!work_spend(&work, source, work_of(frame.bytes, number_of(receivers)))) {
            return 1;
        }
        if (is_good) {
            table_learn(&table, from, source, now);
        } else {
            refuse(source);
        }
        hand_on(source, &frame, receivers);
        done_with(source, is_good);
    }
    work_end(&work, source);
    return 0;
}

static uint32_t serve_all(void)
{
    uint32_t is_left = 0;

    now = time_now();
    for (uint32_t source = 0; source <= UPLINK; source = source + 1u) {
        if (shares.weight[source] != 0u) {
            is_left = is_left | serve(source);
        }
    }
    return is_left;
}

static void print_status(void)
{
    for (uint32_t i = 0; i <= UPLINK; i = i + 1u) {
        if (shares.weight[i] != 0u) {
            print("SWITCH %s: %lu handed on, %lu refused, %lu lost\n", name_of(i), count[i].handed_on, count[i].refused,
                  count[i].lost);
        }
    }
}

/* ---- the beginning ---- */

/* `client.NAME=ADDRESS WEIGHT`. Ends the process if one of them is missing. */
static void read_client(uint32_t client)
{
    uint32_t weight = (uint32_t)client_value(client, 1);

    if (weight == 0u || client_value(client, 0) == 0u) {
        print("SWITCH the environment says nothing of use about client %s\n", client_name(client));
        __builtin_trap();
    }
    address[client] = client_value(client, 0);
    for (uint32_t i = 0; i < ADDRESS_BYTES; i = i + 1u) {
        port[client].address[i] = (uint8_t)(address[client] >> (40u - 8u * i));
    }
    table_fix(&table, address[client], client);
    shares.weight[client] = weight;
    shares.sum = shares.sum + weight;
    print("SWITCH port %u is for %s, %012lx\n", client, client_name(client), address[client]);
}

/* The uplink stands for everybody outside, so it weighs as much as all clients together. */
static void begin(void)
{
    num_client = client_count();
    for (uint32_t client = 0; client < num_client; client = client + 1u) {
        read_client(client);
    }
    if (driver_is_named()) {
        shares.weight[UPLINK] = shares.sum;
        shares.sum = 2u * shares.sum;
    }
    print("SWITCH up\n");
}

static void receive(uint32_t mailbox)
{
    switch (mailbox) {
    case CONSOLE_STATUS:
        print_status();
        break;
    case ETHERNET_OPEN:
    case ETHERNET_CLOSE:
    case ETHERNET_TRANSMIT:
    case ETHERNET_RECEIVE_BUFFER:
    case ETHERNET_SET_FILTER:
    case ETHERNET_SET_ADDRESS:
    case ETHERNET_GET_STATISTICS:
        port_receive(&port[CLIENT()], mailbox);
        break;
    default:
        uplink_event(mailbox);
        break;
    }
}

#define ANY_MESSAGE                                                                                                    \
    ETHERNET_OPEN, ETHERNET_CLOSE, ETHERNET_TRANSMIT, ETHERNET_RECEIVE_BUFFER, ETHERNET_SET_FILTER,                    \
        ETHERNET_SET_ADDRESS, ETHERNET_GET_STATISTICS, DRIVER_UP, DRIVER_LOST, ETHERNET_OPEN_OK, ETHERNET_OPEN_FAIL,   \
        ETHERNET_CLOSE_OK, ETHERNET_LINK_UP, ETHERNET_LINK_DOWN, ETHERNET_GONE, ETHERNET_FILTER_SET,                   \
        ETHERNET_TRANSMIT_DONE, ETHERNET_RECEIVED, ETHERNET_RECEIVE_RETURNED, TIMER_FIRED, CONSOLE_STATUS

void driver(void)
{
    uint32_t is_left = 0;

    begin();
    for (;;) {
        uint32_t mailbox = is_left ? POLL(ANY_MESSAGE) : AWAIT(ANY_MESSAGE);
        for (uint32_t i = 1; mailbox != 0u && i < MESSAGES_AT_ONCE; i = i + 1u) {
            receive(mailbox);
            mailbox = POLL(ANY_MESSAGE);
        }
        if (mailbox != 0u) {
            receive(mailbox);
        }
        is_left = serve_all();
    }
}

const struct protocol *const driver_protocols[] = {&ethernet_protocol, &timer_protocol, 0};
const struct protocol *const client_protocols[] = {&ethernet_protocol, 0};
const struct driver_clients driver_clients = {ETHERNET_NUMBER, CLIENTS, UPLINK_PAGES};
