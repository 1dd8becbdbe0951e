/* The client of a network's driver, against a driver that this test plays: opening, frames both ways, a driver that is lost, a card
 * that is taken out or is another one, and a driver that lies. */
#include "../virtio/network.c"

#include "../../libc/tests/check.h"

#define NUM_EMITTED 512u

struct emitted {
    uint32_t mailbox;
    uint64_t cookie;
    uint8_t payload[MAIL_PAYLOAD];
};

static uint64_t now = 1000;
static uint8_t area[DATA_PAGES * 4096];
static uint32_t is_linked;
static struct emitted emitted[NUM_EMITTED];
static uint32_t num_emitted, num_seen, num_changed;
static struct mail incoming;
const struct mail *domain_current;
const struct protocol ethernet_protocol;

uint64_t clock_now(void)
{
    return now;
}

void domain_connect(uint32_t port, const char *driver, const struct protocol *protocol, uint32_t capacity,
                    uint32_t pages)
{
    CHECK(port == ETHERNET_NUMBER && driver != 0 && protocol == &ethernet_protocol && pages == DATA_PAGES);
    CHECK(capacity >= NUM_TRANSMIT + NUM_RECEIVE + 8);
}

void *domain_data(uint32_t port, uint64_t *bytes)
{
    CHECK(port == ETHERNET_NUMBER);
    *bytes = sizeof area;
    return is_linked ? area : 0;
}

void *domain_emit_begin(uint32_t mailbox, uint64_t cookie)
{
    CHECK(num_emitted < NUM_EMITTED);
    emitted[num_emitted].mailbox = mailbox;
    emitted[num_emitted].cookie = cookie;
    return emitted[num_emitted].payload;
}

void domain_emit_end(uint32_t mailbox, uint64_t cookie)
{
    (void)mailbox, (void)cookie;
    num_emitted++;
}

void nic_changed(void)
{
    num_changed++;
}

/* The driver says something. */
static void hear(uint32_t mailbox, uint64_t cookie, const void *payload, uint32_t bytes)
{
    incoming = (struct mail){.mailbox = mailbox, .cookie = cookie};
    if (bytes != 0) {
        memcpy(incoming.payload, payload, bytes);
    }
    domain_current = &incoming;
    network_receive(mailbox);
}

static void hear_word(uint32_t mailbox)
{
    hear(mailbox, 0, 0, 0);
}

/* The monitor has said just this since it was last looked at. */
#define SAID(expected) CHECK(num_emitted == num_seen + 1 && emitted[num_seen].mailbox == (expected) && ++num_seen)
#define SAID_NOTHING() CHECK(num_emitted == num_seen)

/* All receive buffers are lent, each once; `then` is what was said after. */
static void said_all_buffers(uint32_t then)
{
    uint64_t lent = 0;
    CHECK(num_emitted == num_seen + NUM_RECEIVE + 1);
    for (uint32_t i = 0; i < NUM_RECEIVE; i++) {
        const struct emitted *e = &emitted[num_seen + i];
        const struct ethernet_receive_buffer *body = (const struct ethernet_receive_buffer *)e->payload;
        CHECK(e->mailbox == ETHERNET_RECEIVE_BUFFER && body->length == BUFFER);
        CHECK(body->buffer == (NUM_TRANSMIT + e->cookie) * BUFFER && (lent & 1ul << e->cookie) == 0);
        lent |= 1ul << e->cookie;
    }
    CHECK(emitted[num_seen + NUM_RECEIVE].mailbox == then);
    num_emitted = num_seen = 0;
}

static void open_with(uint8_t last, uint32_t then)
{
    struct ethernet_open_ok body = {.address = {2, 0, 0, 0, 0, last}};
    hear(ETHERNET_OPEN_OK, 0, &body, sizeof body);
    said_all_buffers(then);
}

static void arrive(uint32_t slot, uint16_t bytes)
{
    struct ethernet_received body = {.length = bytes};
    hear(ETHERNET_RECEIVED, slot, &body, sizeof body);
}

static void test_open(void)
{
    network_connect("card");
    CHECK(network_is_known() == 0 && network_frame() == 0);
    is_linked = 1;
    hear_word(AT(PORT, MAIL_LINK_UP));
    SAID(ETHERNET_OPEN);
    hear_word(ETHERNET_OPEN_FAIL); /* no device yet */
    SAID_NOTHING();
    CHECK(network_deadline() > now && network_deadline() != NETWORK_NEVER);
    now = network_deadline();
    network_expire(now);
    SAID(ETHERNET_OPEN);
    CHECK(network_deadline() == NETWORK_NEVER);
    open_with(9, ETHERNET_SET_FILTER);
    CHECK(network_is_known() && network_is_open() && network_address()[5] == 9 && network_is_up() == 0);
    hear_word(ETHERNET_FILTER_SET);
    SAID_NOTHING();
    hear_word(ETHERNET_LINK_UP);
    hear_word(ETHERNET_LINK_UP);
    CHECK(network_is_up() && num_changed == 1);
    hear_word(ETHERNET_LINK_DOWN);
    CHECK(network_is_up() == 0 && num_changed == 2);
    hear_word(ETHERNET_LINK_UP);
}

static void test_transmit(void)
{
    for (uint32_t i = 0; i < NUM_TRANSMIT; i++) {
        uint8_t *frame = network_frame();
        CHECK(frame == area + i * BUFFER);
        memset(frame, 0xee, BUFFER);
        network_send(i == 0 ? 20 : 100);
        SAID(ETHERNET_TRANSMIT);
    }
    CHECK(((const struct ethernet_transmit *)emitted[num_seen - NUM_TRANSMIT].payload)->length == FRAME_LEAST);
    CHECK(area[19] == 0xee && area[20] == 0 && area[59] == 0 && area[60] == 0xee);
    CHECK(network_frame() == 0);
    hear(ETHERNET_TRANSMIT_DONE, NUM_TRANSMIT, 0, 0); /* a lie */
    hear(ETHERNET_TRANSMIT_DONE, 1, 0, 0);
    CHECK(network_frame() == 0); /* in turn */
    hear(ETHERNET_TRANSMIT_DONE, 0, 0, 0);
    CHECK(network_frame() == area);
}

static void test_receive(void)
{
    uint32_t bytes = 0;
    num_emitted = num_seen = 0;
    CHECK(network_first(&bytes) == 0);
    arrive(5, 60);
    arrive(3, 1514);
    arrive(NUM_RECEIVE, 60); /* lies */
    arrive(4, BUFFER + 1);
    CHECK(network_first(&bytes) == area + (NUM_TRANSMIT + 5) * BUFFER && bytes == 60);
    network_take();
    SAID_NOTHING(); /* buffers go back some at a time, */
    CHECK(network_first(&bytes) == area + (NUM_TRANSMIT + 3) * BUFFER && bytes == 1514);
    network_take();
    CHECK(network_first(&bytes) == 0); /* and all of them when no frame waits */
    CHECK(num_emitted == 2 && emitted[0].cookie == 5 && emitted[1].cookie == 3);
    num_emitted = num_seen = 0;
    for (uint32_t i = 0; i <= LEND_AT_ONCE; i++) {
        arrive(10 + i, 60);
    }
    for (uint32_t i = 0; i < LEND_AT_ONCE; i++) {
        CHECK(num_emitted == 0 && network_first(&bytes) != 0);
        network_take();
    }
    CHECK(num_emitted == LEND_AT_ONCE && emitted[0].cookie == 10);
    network_take();
    CHECK(num_emitted == LEND_AT_ONCE + 1);
    for (uint32_t i = 0; i < 3 * NUM_RECEIVE; i++) { /* more than there are buffers */
        arrive(i % NUM_RECEIVE, 60);
    }
    CHECK(num_waiting == NUM_RECEIVE);
    num_emitted = num_seen = 0;
}

/* The driver ends, and comes back with another card. */
static void test_lost(void)
{
    uint32_t bytes = 0, changes = num_changed;
    is_linked = 0;
    hear_word(AT(PORT, MAIL_LINK_LOST));
    CHECK(network_is_open() == 0 && network_frame() == 0 && network_first(&bytes) == 0 && num_changed == changes + 1);
    arrive(1, 60);
    CHECK(network_first(&bytes) == 0);
    is_linked = 1;
    hear_word(AT(PORT, MAIL_LINK_UP));
    SAID(ETHERNET_OPEN);
    open_with(10, ETHERNET_SET_ADDRESS);
    CHECK(network_address()[5] == 9 && network_frame() == area);
    hear_word(ETHERNET_ADDRESS_SET);
    SAID(ETHERNET_SET_FILTER);
    CHECK(network_is_up() == 0);
}

/* The card is taken out while the filter is being set: the interface is closed after that, and opened again. */
static void test_gone(void)
{
    hear_word(ETHERNET_LINK_UP);
    hear_word(ETHERNET_GONE);
    SAID_NOTHING();
    CHECK(network_is_open() == 0 && network_is_up() == 0);
    hear_word(ETHERNET_FILTER_SET);
    SAID(ETHERNET_CLOSE);
    hear(ETHERNET_RECEIVE_RETURNED, 2, 0, 0);
    hear_word(ETHERNET_CLOSE_OK);
    SAID(ETHERNET_OPEN);
    open_with(9, ETHERNET_SET_FILTER);
    hear_word(ETHERNET_FILTER_SET);
    hear_word(ETHERNET_GONE);
    SAID(ETHERNET_CLOSE);
}

int main(void)
{
    test_open();
    test_transmit();
    test_receive();
    test_lost();
    test_gone();
    return 0;
}
