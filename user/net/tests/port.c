/* Ports of a switch, against two clients that this test plays: frames from one to the other, buffers in turn, clients that close and
 * open again, and clients that lie. */
#include "../port.c"

#include "../../libc/tests/check.h"

#define NUM_EMITTED 600u
#define AREA 16384u

struct emitted {
    uint32_t mailbox;
    uint64_t cookie;
    uint8_t payload[MAIL_PAYLOAD];
};

static const uint8_t own[6] = {2, 'A', 'S', 'H', 0, 1};
static uint8_t area[2][AREA];
static struct emitted emitted[NUM_EMITTED];
static uint32_t num_emitted, num_seen;
static struct mail incoming[NUM_EMITTED];
static uint32_t num_incoming, num_heard;
const struct mail *domain_current;
const struct protocol ethernet_protocol;

void domain_start(void)
{
}

void domain_serve_at(uint32_t at, const struct protocol *protocol, const char *client, const char *share)
{
    CHECK(at >= FIRST_PORT && protocol == &ethernet_protocol && client != 0);
    CHECK(strncmp(share, "switch-ethernet-", 16) == 0 && strncmp(share + 16, client, 32) == 0);
}

void *domain_data(uint32_t at, uint64_t *bytes)
{
    *bytes = AREA;
    return area[at - FIRST_PORT];
}

void domain_send(uint32_t mailbox, uint64_t cookie, const void *body, uint64_t size)
{
    CHECK(num_emitted < NUM_EMITTED && size <= MAIL_PAYLOAD);
    emitted[num_emitted].mailbox = mailbox;
    emitted[num_emitted].cookie = cookie;
    if (size != 0) {
        memcpy(emitted[num_emitted].payload, body, size);
    }
    num_emitted++;
}

uint32_t domain_await(const struct mail_set *set, uint64_t deadline)
{
    (void)deadline;
    if (num_heard == num_incoming) {
        num_heard = num_incoming = 0;
        return DOMAIN_TIMEOUT;
    }
    domain_current = &incoming[num_heard++];
    CHECK(set->mask[domain_current->mailbox >> 8] != 0);
    return domain_current->mailbox;
}

void env_name(char *buffer, size_t size)
{
    CHECK(size > 7);
    memcpy(buffer, "switch", 7);
}

size_t format(char *buffer, size_t size, const char *pattern, ...)
{
    va_list list;
    va_start(list, pattern);
    int length = vsnprintf(buffer, size, pattern, list);
    va_end(list);
    return (size_t)length;
}

void panic(const char *pattern, ...)
{
    fputs(pattern, stderr);
    exit(1);
}

static void say(uint32_t number, uint32_t mailbox, uint64_t cookie, const void *payload, uint32_t bytes)
{
    struct mail *mail = &incoming[num_incoming++];
    *mail = (struct mail){.mailbox = AT(FIRST_PORT + number, mailbox), .cookie = cookie};
    if (bytes != 0) {
        memcpy(mail->payload, payload, bytes);
    }
}

/* Port `number` was told just this next. */
static const struct emitted *hears(uint32_t number, uint32_t mailbox)
{
    const struct emitted *e = &emitted[num_seen];
    CHECK(num_seen < num_emitted && e->mailbox == AT(FIRST_PORT + number, mailbox));
    num_seen++;
    return e;
}

static void hears_nothing_more(void)
{
    CHECK(num_seen == num_emitted);
    num_seen = num_emitted = 0;
}

static uint8_t frame[NET_PORT_FRAME];

static uint32_t await(uint32_t *bytes)
{
    return net_port_await(frame, bytes, 0);
}

static void open_both(void)
{
    uint32_t bytes = 0;
    for (uint32_t number = 0; number < 2; number++) {
        say(number, ETHERNET_OPEN, 0, 0, 0);
        CHECK(await(&bytes) == NET_PORT_NONE);
        const struct emitted *e = hears(number, ETHERNET_OPEN_OK);
        CHECK(memcmp(((const struct ethernet_open_ok *)e->payload)->address, own, 6) == 0);
        hears(number, ETHERNET_LINK_UP);
        hears_nothing_more();
    }
}

static void lend_one(uint32_t number, uint64_t cookie, uint32_t buffer, uint16_t length)
{
    struct ethernet_receive_buffer body = {buffer, length};
    uint32_t bytes = 0;
    say(number, ETHERNET_RECEIVE_BUFFER, cookie, &body, sizeof body);
    CHECK(await(&bytes) == NET_PORT_NONE);
}

/* The status with which the frame came back; 99: it was handed on, and these are its bytes. */
static uint32_t transmit(uint32_t buffer, uint16_t length, uint32_t *bytes)
{
    struct ethernet_transmit body = {buffer, length, 0};
    say(0, ETHERNET_TRANSMIT, 7, &body, sizeof body);
    uint32_t from = await(bytes);
    const struct emitted *e = hears(0, ETHERNET_TRANSMIT_DONE);
    uint32_t status = ((const struct ethernet_transmit_done *)e->payload)->status;
    CHECK(e->cookie == 7 && (from == 0) == (status == PORT_SENT) && (from == 0 || from == NET_PORT_NONE));
    hears_nothing_more();
    CHECK(await(bytes) == NET_PORT_NONE);
    return status;
}

static void test_frames(void)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < AREA; i++) {
        area[0][i] = (uint8_t)(3 * i + 1);
    }
    struct ethernet_transmit body = {2048, 1000, 0};
    say(0, ETHERNET_TRANSMIT, 5, &body, sizeof body);
    CHECK(await(&bytes) == 0 && bytes == 1000 && memcmp(frame, area[0] + 2048, 1000) == 0);
    hears(0, ETHERNET_TRANSMIT_DONE);
    CHECK(net_port_send(1, frame, bytes) == 0 && net_port_count(1).lost == 1); /* it has lent no buffer */
    lend_one(1, 11, 4096, 2048);
    lend_one(1, 12, 0, 2048);
    hears_nothing_more();
    CHECK(net_port_send(1, frame, bytes) == 1 && memcmp(area[1] + 4096, frame, 1000) == 0);
    const struct emitted *e = hears(1, ETHERNET_RECEIVED);
    CHECK(e->cookie == 11 && ((const struct ethernet_received *)e->payload)->length == 1000);
    CHECK(net_port_send(1, frame, 60) == 1 && hears(1, ETHERNET_RECEIVED)->cookie == 12);
    CHECK(net_port_send(1, frame, 60) == 0);
    hears_nothing_more();
    CHECK(net_port_count(0).from == 1 && net_port_count(1).to == 2 && net_port_count(1).lost == 2);
    CHECK(net_port_send(1, frame, 13) == 0 && net_port_send(1, frame, 1515) == 0 && net_port_send(99, frame, 60) == 0);
}

/* Whatever the client says about its frames and buffers, nothing outside its area is touched: the sanitizer sees it. */
static void test_lies(void)
{
    uint32_t bytes = 0;
    CHECK(transmit(AREA - 60, 60, &bytes) == PORT_SENT);
    CHECK(transmit(AREA - 59, 60, &bytes) == PORT_DROPPED);
    CHECK(transmit(0xffffffffu, 60, &bytes) == PORT_DROPPED);
    CHECK(transmit(0, 13, &bytes) == PORT_DROPPED && transmit(0, 1515, &bytes) == PORT_DROPPED &&
          transmit(0, 0, &bytes) == PORT_DROPPED);
    uint64_t lost = net_port_count(1).lost;
    lend_one(1, 20, AREA - 10, 2048);
    CHECK(net_port_send(1, frame, 60) == 0 && net_port_count(1).lost == lost + 1);
    lend_one(1, 21, 0, 2048);
    say(1, ETHERNET_CLOSE, 0, 0, 0); /* every buffer comes back, also the one that is none */
    CHECK(await(&bytes) == NET_PORT_NONE);
    CHECK(hears(1, ETHERNET_RECEIVE_RETURNED)->cookie == 20);
    CHECK(hears(1, ETHERNET_RECEIVE_RETURNED)->cookie == 21);
    hears(1, ETHERNET_CLOSE_OK);
    hears_nothing_more();
    CHECK(net_port_send(1, frame, 60) == 0); /* it is closed */
    hears_nothing_more();
    open_both();
    lend_one(1, 30, 0, 30); /* too short for the frame */
    CHECK(net_port_send(1, frame, 60) == 0);
    for (uint32_t i = 0; i < 2 * PORT_BUFFERS; i++) { /* more than the protocol allows */
        lend_one(1, i, 0, 2048);
    }
    CHECK(net_port_buffers(1) == PORT_BUFFERS);
    hears_nothing_more();
}

static void test_questions(void)
{
    uint32_t bytes = 0;
    struct ethernet_set_filter filter = {.mode = 2};
    say(0, ETHERNET_SET_FILTER, 0, &filter, sizeof filter);
    say(0, ETHERNET_GET_STATISTICS, 0, 0, 0);
    say(1, ETHERNET_SET_ADDRESS, 0, own, sizeof own);
    static const uint8_t other[6] = {2, 'A', 'S', 'H', 0, 9};
    say(1, ETHERNET_SET_ADDRESS, 0, other, sizeof other);
    CHECK(await(&bytes) == NET_PORT_NONE);
    hears(0, ETHERNET_FILTER_SET);
    const struct emitted *e = hears(0, ETHERNET_STATISTICS);
    CHECK(((const struct ethernet_statistics *)e->payload)->sent == net_port_count(0).from);
    CHECK(((const struct ethernet_address_set *)hears(1, ETHERNET_ADDRESS_SET)->payload)->status == 0);
    CHECK(((const struct ethernet_address_set *)hears(1, ETHERNET_ADDRESS_SET)->payload)->status == PORT_REFUSED);
    hears_nothing_more();
}

/* Port 0 has sent this many frames that wait at it. */
static void send_many(uint32_t many)
{
    for (uint32_t i = 0; i < many; i++) {
        struct ethernet_transmit body = {64 * i, 60, 0};
        say(0, ETHERNET_TRANSMIT, 100 + i, &body, sizeof body);
        domain_current = &incoming[num_incoming - 1];
        net_port_receive(domain_current->mailbox);
    }
    num_incoming = 0;
}

/* Frames wait at their port, in their order, until they are done with; a client that closes has them back. */
static void test_waiting(void)
{
    struct net_frame first;
    CHECK(!net_port_first(0, &first));
    send_many(3);
    hears_nothing_more();
    CHECK(net_port_first(0, &first) && first.length == 60 && first.bytes == area[0]);
    CHECK(memcmp(first.header, area[0], NET_PORT_HEADER) == 0);
    net_port_done(0, 1);
    const struct emitted *e = hears(0, ETHERNET_TRANSMIT_DONE);
    CHECK(e->cookie == 100 && ((const struct ethernet_transmit_done *)e->payload)->status == PORT_SENT);
    CHECK(net_port_first(0, &first) && first.bytes == area[0] + 64);
    say(0, ETHERNET_CLOSE, 0, 0, 0);
    domain_current = &incoming[0];
    net_port_receive(domain_current->mailbox);
    num_incoming = 0;
    e = hears(0, ETHERNET_TRANSMIT_DONE);
    CHECK(e->cookie == 101 && ((const struct ethernet_transmit_done *)e->payload)->status == PORT_DROPPED);
    CHECK(hears(0, ETHERNET_TRANSMIT_DONE)->cookie == 102 && !net_port_first(0, &first));
    hears(0, ETHERNET_CLOSE_OK);
    hears_nothing_more();
    CHECK(net_port_buffers(0) == 0);
}

/* The header that was looked at is the one that is handed on, whatever the sender writes meanwhile. */
static void test_header(void)
{
    struct net_frame first;
    uint32_t bytes = 0;
    say(1, ETHERNET_CLOSE, 0, 0, 0); /* all that it has lent comes back */
    CHECK(await(&bytes) == NET_PORT_NONE && num_emitted == PORT_BUFFERS + 1 && net_port_buffers(1) == 0);
    num_seen = num_emitted = 0;
    open_both();
    send_many(1);
    CHECK(net_port_first(0, &first));
    uint8_t header[NET_PORT_HEADER];
    memcpy(header, area[0], sizeof header);
    memset(area[0], 0xee, sizeof header);
    struct ethernet_receive_buffer lent = {2048, 2048};
    say(1, ETHERNET_RECEIVE_BUFFER, 40, &lent, sizeof lent);
    domain_current = &incoming[0];
    net_port_receive(domain_current->mailbox);
    CHECK(net_port_give(1, &first) && memcmp(area[1] + 2048, header, sizeof header) == 0);
    CHECK(memcmp(area[1] + 2048 + sizeof header, area[0] + sizeof header, 60 - sizeof header) == 0);
    net_port_done(0, 1);
}

int main(void)
{
    net_port_serve(0, "one", own);
    net_port_serve(1, "two", own);
    open_both();
    test_frames();
    test_lies();
    test_questions();
    test_waiting();
    test_header();
    return 0;
}
