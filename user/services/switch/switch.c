/* A network switch: hands frames between its clients, guests and programs, and the machine's card, its uplink, if it has one.
 *
 * Each client has one hardware address, and sends from it alone: frames from another are refused. Frames to a group, and to a station that
 * is not known, go to all others. A client's frames wait at its own port until its turn comes; see shares.h. What is lost is lost
 * at the receiver that has no buffer left for this sender, and counted.
 *
 * The environment says who the clients are: `client.NAME=ADDRESS WEIGHT`. Argument: `uplink`, the card's driver. On its console
 * `status` prints what was counted. */
#include "abi.h"
#include "ashlar/console_line.h"
#include "ashlar/env.h"
#include "ashlar/net_port.h"
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"

#include "shares.h"
#include "table.h"
#include "uplink.h"

#define UPLINK NET_PORTS     /* its number as a source and as a receiver */
#define MESSAGES_AT_ONCE 64u /* that are taken in between two rounds */
#define UPLINK_CAPACITY 256u /* of the rings of its link */
#define NAME_BYTES 32u

_Static_assert(UPLINK < SHARE_SOURCES && NET_PORTS <= TABLE_FIXED,
               "each source has its share, each client its station");

/* What becomes of the frames of a source. */
struct count {
    uint64_t handed_on; /* a frame to several receivers once for each */
    uint64_t refused;   /* from an address that is not the source's, or no frame at all */
    uint64_t lost;      /* at a receiver without a buffer for it */
};

struct came {
    uint32_t buffer;
    uint32_t bytes;
};

static char name[SHARE_SOURCES][NAME_BYTES];
static uint64_t address[NET_PORTS];
static uint32_t num_client;
static struct count count[SHARE_SOURCES];
static struct shares shares;
static struct work work;
static struct room room[SHARE_SOURCES]; /* by receiver */
static struct table table;
static uint32_t has_uplink;
static struct came came[UPLINK_BUFFERS]; /* frames of the uplink that wait for their turn */
static uint32_t first_came, num_came;
static uint64_t now; /* ns since boot, when the round began */

/* ---- the uplink's frames ---- */

static uint8_t *uplink_data(void)
{
    uint64_t bytes = 0;
    uint8_t *data = domain_data(ETHERNET_NUMBER, &bytes);

    return bytes >= UPLINK_PAGES * PAGE_SIZE ? data : 0;
}

static void uplink_event(uint32_t mailbox)
{
    switch (uplink_receive(mailbox)) {
    case UPLINK_FRAME_CAME:
        came[(first_came + num_came) % UPLINK_BUFFERS] =
            (struct came){(uint32_t)COOKIE(), MAIL(ethernet_received)->length};
        num_came++;
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
        num_came = 0; /* the buffers are the driver's no more, nor are the frames in them */
    }
}

/* The driver says anything of a frame's length; what it has written may change. */
static uint32_t uplink_first(struct net_frame *frame)
{
    const uint8_t *data = uplink_data();
    const struct came *oldest = &came[first_came % UPLINK_BUFFERS];

    if (num_came == 0) {
        return 0;
    }
    frame->length = 0;
    if (data != 0 && oldest->bytes >= NET_PORT_FRAME_LEAST && oldest->bytes <= NET_PORT_FRAME) {
        frame->bytes = data + (UPLINK_BUFFERS + oldest->buffer) * UPLINK_BUFFER;
        frame->length = oldest->bytes;
        memcpy(frame->header, frame->bytes, NET_PORT_HEADER);
    }
    return 1;
}

static void uplink_done(void)
{
    uint32_t buffer = came[first_came % UPLINK_BUFFERS].buffer;

    first_came++;
    num_came--;
    uplink_lend(buffer);
}

static uint32_t uplink_give(const struct net_frame *frame)
{
    uint8_t *data = uplink_data();
    uint32_t buffer = uplink_free();
    uint32_t bytes = frame->length;

    if (data == 0 || buffer == UPLINK_NONE) {
        return 0;
    }
    uint8_t *to = data + buffer * UPLINK_BUFFER;
    memcpy(to, frame->header, NET_PORT_HEADER);
    memcpy(to + NET_PORT_HEADER, frame->bytes + NET_PORT_HEADER, bytes - NET_PORT_HEADER);
    if (bytes < UPLINK_FRAME_LEAST) {
        memset(to + bytes, 0, UPLINK_FRAME_LEAST - bytes); /* not what an earlier frame held */
        bytes = UPLINK_FRAME_LEAST;
    }
    uplink_send(buffer, bytes);
    return 1;
}

/* ---- any source, any receiver ---- */

static uint32_t first_of(uint32_t source, struct net_frame *frame)
{
    return source == UPLINK ? uplink_first(frame) : net_port_first(source, frame);
}

static void done_with(uint32_t source, uint32_t was_good)
{
    if (source == UPLINK) {
        uplink_done();
    } else {
        net_port_done(source, was_good);
    }
}

static uint32_t buffers_of(uint32_t receiver)
{
    return receiver == UPLINK ? uplink_room() : net_port_buffers(receiver);
}

static void give(uint32_t source, uint32_t receiver, const struct net_frame *frame)
{
    room_fill(&room[receiver], &shares, receiver, buffers_of(receiver));
    if (room_take(&room[receiver], source) &&
        (receiver == UPLINK ? uplink_give(frame) : net_port_give(receiver, frame))) {
        count[source].handed_on++;
    } else {
        count[source].lost++;
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

    for (; receivers != 0; receivers &= receivers - 1) {
        number++;
    }
    return number;
}

/* The receivers of a frame: a bit each. */
static uint32_t receivers_of(uint32_t source, uint64_t to)
{
    uint32_t all = uplink_is_up() ? 1u << UPLINK : 0u;
    uint32_t port = address_is_group(to) ? TABLE_NONE : table_find(&table, to, now);

    if (address_is_link_local(to)) {
        return 0;
    }
    for (uint32_t client = 0; client < num_client; client++) {
        all |= net_port_is_open(client) << client;
    }
    return (port == TABLE_NONE ? all : all & 1u << port) & ~(1u << source);
}

/* Numbers that double: a flood does not fill the console. */
static void refuse(uint32_t source)
{
    uint64_t refused = ++count[source].refused;

    if ((refused & (refused - 1)) == 0) {
        print("SWITCH refused from %s: %lu\n", name[source], refused);
    }
}

/* Hands on the source's frames until it has had its turn. Returns 1 if some are left for the next one. */
static uint32_t serve(uint32_t source)
{
    struct net_frame frame;

    work_begin(&work, &shares, source);
    while (first_of(source, &frame)) {
        uint64_t from = station_address(frame.header + 6);
        uint32_t is_good = frame.length != 0 && may_send(source, from);
        uint32_t receivers = is_good ? receivers_of(source, station_address(frame.header)) : 0;
        if (!work_spend(&work, source, work_of(frame.length, number_of(receivers)))) {
            return 1;
        }
        if (is_good) {
            table_learn(&table, from, source, now);
        } else {
            refuse(source);
        }
        for (uint32_t receiver = 0; receiver <= UPLINK; receiver++) {
            if ((receivers >> receiver & 1u) != 0) {
                give(source, receiver, &frame);
            }
        }
        done_with(source, is_good);
    }
    work_end(&work, source);
    return 0;
}

static uint32_t serve_all(void)
{
    uint32_t is_left = 0;

    now = sys_clock();
    for (uint32_t source = 0; source <= UPLINK; source++) {
        if (shares.weight[source] != 0) {
            is_left |= serve(source);
        }
    }
    return is_left;
}

/* ---- the console ---- */

static void obey(const char *line)
{
    if (strcmp(line, "status") != 0) {
        print("SWITCH not understood: %s; say status\n", line);
        return;
    }
    for (uint32_t i = 0; i <= UPLINK; i++) {
        if (shares.weight[i] != 0) {
            print("SWITCH %s: %lu handed on, %lu refused, %lu lost\n", name[i], count[i].handed_on, count[i].refused,
                  count[i].lost);
        }
    }
}

/* ---- the beginning ---- */

static uint32_t hexadecimal(char c)
{
    return c >= '0' && c <= '9' ? (uint32_t)(c - '0') : (uint32_t)(c - 'a' + 10);
}

/* `02:41:53:48:00:01 3`, as the tool writes it. */
static void read_client(uint32_t number, const char *text, size_t length)
{
    uint8_t bytes[6] = {0};
    uint64_t weight = 0;

    if (length < 19 || env_text_number(text + 18, length - 18, &weight) == 0 || weight == 0) {
        panic("the environment says nothing of use about client %s\n", name[number]);
    }
    for (uint32_t i = 0; i < 6; i++) {
        bytes[i] = (uint8_t)(hexadecimal(text[3 * i]) << 4 | hexadecimal(text[3 * i + 1]));
    }
    address[number] = station_address(bytes);
    table_fix(&table, address[number], number);
    shares.weight[number] = (uint32_t)weight;
    shares.sum += (uint32_t)weight;
    net_port_serve(number, name[number], bytes);
    print("SWITCH port %u is for %s, %02x:%02x:%02x:%02x:%02x:%02x\n", number, name[number], bytes[0], bytes[1],
          bytes[2], bytes[3], bytes[4], bytes[5]);
}

static void serve_clients(void)
{
    const char *key, *value;
    size_t length = 0, value_length = 0;

    while ((key = env_text_entry((const char *)ENV_VADDR, "client.", num_client, &length, &value, &value_length)) !=
           0) {
        if (num_client == NET_PORTS || length >= NAME_BYTES) {
            panic("more clients, or a longer name, than this switch can serve\n");
        }
        memcpy(name[num_client], key, length);
        read_client(num_client, value, value_length);
        num_client++;
    }
    if (num_client == 0) {
        panic("no guest or process has `network` with this process's name\n");
    }
}

/* It stands for everybody outside, so it weighs as much as all clients together. */
static void connect_uplink(void)
{
    char driver[NAME_BYTES];

    if (env_arg("uplink", driver, sizeof driver) < 0) {
        return;
    }
    has_uplink = 1;
    memcpy(name[UPLINK], "the uplink", 11);
    shares.weight[UPLINK] = shares.sum;
    shares.sum *= 2;
    domain_serve(&timer_protocol);
    domain_connect(ETHERNET_NUMBER, driver, &ethernet_protocol, UPLINK_CAPACITY, UPLINK_PAGES);
}

static void receive(uint32_t mailbox, uint32_t console)
{
    uint32_t from = mailbox >> 8;

    if (from == DOMAIN_EVENTS) {
        while (console_obey(console, obey)) {
        }
    } else if (from == ETHERNET_NUMBER || from == TIMER_NUMBER) {
        uplink_event(mailbox);
    } else {
        net_port_receive(mailbox);
    }
}

int main(void)
{
    struct mail_set set = {{0}};
    uint32_t console = env_slot_of_kind("console");

    serve_clients();
    connect_uplink();
    net_port_wait_for(&set);
    set.mask[DOMAIN_EVENTS] = console != NO_SLOT ? 1ul << console : 0;
    set.mask[ETHERNET_NUMBER] = has_uplink ? ~0ul : 0;
    set.mask[TIMER_NUMBER] = has_uplink ? ~0ul : 0;
    print("SWITCH up\n");
    for (uint32_t is_left = 0;; is_left = serve_all()) {
        uint32_t mailbox = domain_await(&set, is_left ? 0 : DEADLINE_NEVER);
        for (uint32_t i = 1; mailbox != DOMAIN_TIMEOUT; i++) {
            receive(mailbox, console);
            mailbox = i < MESSAGES_AT_ONCE ? domain_await(&set, 0) : DOMAIN_TIMEOUT;
        }
    }
}
