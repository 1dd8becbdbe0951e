/* Where the interface stands: the link to the driver is up, it was opened, it is told which frames to receive. What fails on the way
 * is tried again after a pause, without making the guest wait. */
#include "virtio/network.h"

#include "ashlar/domain.h"
#include "ashlar/string.h"
#include "clock.h"
#include "ethernet_protocol.h"
#include "virtio/nic.h"

#define PORT ETHERNET_NUMBER
#define BUFFER 2048u
#define NUM_TRANSMIT 64u /* buffers, which stand before those for receiving */
#define NUM_RECEIVE 64u
#define DATA_PAGES ((NUM_TRANSMIT + NUM_RECEIVE) * BUFFER / 4096u)
#define RING_CAPACITY 256u     /* all requests that may be open, and every other message */
#define LEND_AT_ONCE 16u       /* buffers, while more frames wait: each time the driver is woken for them */
#define FRAME_LEAST 60u        /* bytes: shorter ones are filled up */
#define ALL_MULTICAST 2u       /* mode of the filter: what the guest wants of it, it picks itself */
#define RETRY_AFTER 10000000ul /* ns */

/* A frame that has come. */
struct frame {
    uint32_t slot;
    uint32_t bytes;
};

static uint8_t address[NETWORK_ADDRESS];
static uint8_t *data; /* the link's; null while it is not up */
static uint32_t is_known, is_open, link_is_up;
static uint32_t is_asking;  /* an address or a filter was given and is not confirmed */
static uint32_t must_close; /* the device is gone */
static uint64_t retry_at = NETWORK_NEVER;
static uint8_t is_sending[NUM_TRANSMIT];
static uint32_t next_transmit;
static struct frame waiting[NUM_RECEIVE]; /* in the order in which they came */
static uint32_t first_waiting, num_waiting;
static uint32_t taken[LEND_AT_ONCE]; /* buffers that are to be lent again */
static uint32_t num_taken;

static void emit(uint32_t mailbox, uint64_t cookie, const void *payload, uint32_t bytes)
{
    void *place = domain_emit_begin(mailbox, cookie);
    if (bytes != 0) {
        memcpy(place, payload, bytes);
    }
    domain_emit_end(mailbox, cookie);
}

const uint8_t *network_address(void)
{
    return address;
}

uint32_t network_is_known(void)
{
    return is_known;
}

uint32_t network_is_open(void)
{
    return is_open;
}

uint32_t network_is_up(void)
{
    return is_open && link_is_up;
}

uint64_t network_deadline(void)
{
    return retry_at;
}

/* ---- frames ---- */

static uint8_t *buffer_of(uint32_t slot)
{
    return data + slot * BUFFER;
}

/* Transmit buffers are used in turn. */
uint8_t *network_frame(void)
{
    return is_open && is_sending[next_transmit] == 0 ? buffer_of(next_transmit) : 0;
}

void network_send(uint32_t bytes)
{
    uint32_t slot = next_transmit, length = bytes < FRAME_LEAST ? FRAME_LEAST : bytes;
    struct ethernet_transmit body = {slot * BUFFER, (uint16_t)length, 0};

    memset(buffer_of(slot) + bytes, 0, length - bytes); /* not what an earlier frame held */
    is_sending[slot] = 1;
    next_transmit = (slot + 1) % NUM_TRANSMIT;
    emit(ETHERNET_TRANSMIT, slot, &body, sizeof body);
}

static void lend(uint32_t slot)
{
    struct ethernet_receive_buffer body = {(NUM_TRANSMIT + slot) * BUFFER, BUFFER};
    emit(ETHERNET_RECEIVE_BUFFER, slot, &body, sizeof body);
}

/* The driver gets the buffer with others, and at once if no frame waits any more: a switch may have set the rest aside for stations that
 * are silent, and the sender has no others. */
static void give_back(uint32_t slot)
{
    taken[num_taken] = slot;
    num_taken++;
    if (num_taken == LEND_AT_ONCE || num_waiting == 0) {
        for (uint32_t i = 0; i < num_taken; i++) {
            lend(taken[i]);
        }
        num_taken = 0;
    }
}

const uint8_t *network_first(uint32_t *bytes)
{
    if (num_waiting == 0) {
        return 0;
    }
    *bytes = waiting[first_waiting].bytes;
    return buffer_of(NUM_TRANSMIT + waiting[first_waiting].slot);
}

void network_take(void)
{
    uint32_t slot = waiting[first_waiting].slot;

    first_waiting = (first_waiting + 1) % NUM_RECEIVE;
    num_waiting--;
    give_back(slot);
}

/* The driver says anything: a buffer that is none, or one that it has given back already, is left alone. */
static void received(void)
{
    uint64_t slot = domain_current->cookie;
    uint32_t bytes = ((const struct ethernet_received *)domain_current->payload)->length;

    if (is_open == 0 || slot >= NUM_RECEIVE || bytes > BUFFER || num_waiting == NUM_RECEIVE) {
        return;
    }
    waiting[(first_waiting + num_waiting) % NUM_RECEIVE] = (struct frame){(uint32_t)slot, bytes};
    num_waiting++;
}

static void transmitted(void)
{
    uint64_t slot = domain_current->cookie;
    if (slot < NUM_TRANSMIT) {
        is_sending[slot] = 0;
    }
}

/* ---- the interface ---- */

/* Frames can no longer be moved, and those that wait are lost. */
static void stop(void)
{
    uint32_t was_up = network_is_up();
    is_open = 0;
    link_is_up = 0;
    num_waiting = 0;
    if (was_up) {
        nic_changed();
    }
}

static void link_changed(uint32_t is_up)
{
    uint32_t was_up = network_is_up();
    link_is_up = is_up;
    if (network_is_up() != was_up) {
        nic_changed();
    }
}

static void open_interface(void)
{
    emit(ETHERNET_OPEN, 0, 0, 0);
}

static void set_filter(void)
{
    struct ethernet_set_filter body = {.mode = ALL_MULTICAST};
    is_asking = 1;
    emit(ETHERNET_SET_FILTER, 0, &body, sizeof body);
}

/* The guest keeps the address that it has seen first, whatever card takes the place of the first one. */
static void opened(void)
{
    const uint8_t *own = ((const struct ethernet_open_ok *)domain_current->payload)->address;

    if (is_known == 0) {
        memcpy(address, own, NETWORK_ADDRESS);
        is_known = 1;
    }
    memset(is_sending, 0, sizeof is_sending);
    next_transmit = 0;
    first_waiting = 0;
    num_waiting = 0;
    num_taken = 0;
    must_close = 0;
    is_open = 1;
    for (uint32_t slot = 0; slot < NUM_RECEIVE; slot++) {
        lend(slot);
    }
    if (memcmp(own, address, NETWORK_ADDRESS) != 0) {
        struct ethernet_set_address body;
        memcpy(body.address, address, NETWORK_ADDRESS);
        is_asking = 1;
        emit(ETHERNET_SET_ADDRESS, 0, &body, sizeof body);
    } else {
        set_filter();
    }
}

/* The protocol lets an interface be closed when nothing is asked of it. */
static void close_if_gone(void)
{
    if (must_close && is_asking == 0) {
        must_close = 0;
        emit(ETHERNET_CLOSE, 0, 0, 0);
    }
}

static void confirmed(uint32_t mailbox)
{
    is_asking = 0;
    if (mailbox == ETHERNET_ADDRESS_SET && must_close == 0) {
        set_filter();
    }
    close_if_gone();
}

static void receive_link(uint32_t mailbox)
{
    uint64_t bytes = 0;
    stop();
    retry_at = NETWORK_NEVER;
    is_asking = 0;
    must_close = 0;
    data = domain_data(PORT, &bytes);
    if (mailbox == AT(PORT, MAIL_LINK_UP)) {
        open_interface();
    }
}

void network_receive(uint32_t mailbox)
{
    switch (mailbox) {
    case AT(PORT, MAIL_LINK_UP):
    case AT(PORT, MAIL_LINK_LOST):
        receive_link(mailbox);
        break;
    case ETHERNET_OPEN_OK:
        opened();
        break;
    case ETHERNET_OPEN_FAIL: /* the driver has no device yet */
        retry_at = clock_now() + RETRY_AFTER;
        break;
    case ETHERNET_CLOSE_OK:
        open_interface();
        break;
    case ETHERNET_TRANSMIT_DONE:
        transmitted();
        break;
    case ETHERNET_RECEIVED:
        received();
        break;
    case ETHERNET_LINK_UP:
        link_changed(1);
        break;
    case ETHERNET_LINK_DOWN:
        link_changed(0);
        break;
    case ETHERNET_GONE:
        stop();
        must_close = 1;
        close_if_gone();
        break;
    case ETHERNET_FILTER_SET:
    case ETHERNET_ADDRESS_SET:
        confirmed(mailbox);
        break;
    default: /* nothing else was asked for */
        break;
    }
}

void network_expire(uint64_t now)
{
    if (now >= retry_at) {
        retry_at = NETWORK_NEVER;
        open_interface();
    }
}

void network_connect(const char *driver)
{
    domain_connect(PORT, driver, &ethernet_protocol, RING_CAPACITY, DATA_PAGES);
}
