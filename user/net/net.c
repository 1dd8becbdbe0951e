/* A client of an ethernet driver: buffers that are lent to it, and frames. */
#include "ashlar/net.h"

#include "ashlar/domain.h"
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"
#include "ethernet_protocol.h"
#include "net_internal.h"

#define PORT ETHERNET_NUMBER
#define BUFFER 2048u
#define NUM_TRANSMIT 128u /* buffers, which stand before those for receiving */
#define NUM_RECEIVE 128u
#define DATA_PAGES ((NUM_TRANSMIT + NUM_RECEIVE) * BUFFER / 4096u)
#define RING_CAPACITY 1024u /* all requests that may be open, and every other message */
#define LEND_AT_ONCE 16u    /* buffers, while more messages wait: each time the driver is woken for them */

struct net_count net_count;
uint8_t net_hardware_address[6];
uint32_t net_own_address;
uint32_t net_inserts;

static uint8_t *data; /* the link's data area, null while there is no link */
static int is_open;
static int link_is_up;
static int is_closing;
static uint8_t transmit_is_free[NUM_TRANSMIT];
static uint32_t next_transmit;
static uint32_t held;                    /* receive buffer whose packet the program still reads; NONE if none */
static uint32_t read_slot[LEND_AT_ONCE]; /* buffers whose packets were read, to be lent again */
static uint32_t num_read;
static struct mail_set everything;

#define NONE 0xffffffffu

/* ---- messages to the driver ---- */

static void emit(uint32_t mailbox, uint64_t cookie, const void *payload, size_t bytes)
{
    void *place = domain_emit_begin(mailbox, cookie);
    if (bytes != 0) {
        memcpy(place, payload, bytes);
    }
    domain_emit_end(mailbox, cookie);
}

static void lend(uint32_t slot)
{
    struct ethernet_receive_buffer body = {(NUM_TRANSMIT + slot) * BUFFER, BUFFER};
    emit(ETHERNET_RECEIVE_BUFFER, slot, &body, sizeof body);
}

static void lend_read(void)
{
    for (uint32_t i = 0; i < num_read; i++) {
        lend(read_slot[i]);
    }
    num_read = 0;
}

/* The program has read what is in the buffer. The driver gets it with others. */
static void give_back(uint32_t slot)
{
    read_slot[num_read] = slot;
    num_read++;
    if (num_read == LEND_AT_ONCE) {
        lend_read();
    }
}

/* Before it waits the driver has all buffers: a switch may have set the rest aside for stations that are silent, and the sender has
 * no others. */
static uint32_t await_message(uint64_t deadline)
{
    if (num_read != 0 && is_open && !is_closing) {
        uint32_t mailbox = domain_await(&everything, 0);
        if (mailbox != DOMAIN_TIMEOUT) {
            return mailbox;
        }
        lend_read();
    }
    return domain_await(&everything, deadline);
}

void net_send_frame(uint32_t bytes, uint16_t offload)
{
    uint32_t slot = next_transmit;
    struct ethernet_transmit body = {slot * BUFFER, (uint16_t)(bytes < 60 ? 60 : bytes), offload};

    transmit_is_free[slot] = 0;
    next_transmit = (slot + 1) % NUM_TRANSMIT;
    net_count.sent++;
    emit(ETHERNET_TRANSMIT, slot, &body, sizeof body);
}

void net_start(const char *driver, uint32_t address)
{
    net_own_address = address;
    held = NONE;
    everything.mask[PORT] = ~0ul;
    domain_start();
    domain_connect(PORT, driver, &ethernet_protocol, RING_CAPACITY, DATA_PAGES);
}

int net_is_up(void)
{
    return is_open && link_is_up;
}

/* ---- frames ---- */

static uint8_t *frame_of(uint32_t slot)
{
    return data + slot * BUFFER;
}

/* Transmit buffers are used in turn. */
uint8_t *net_frame(void)
{
    return is_open && transmit_is_free[next_transmit] ? frame_of(next_transmit) : 0;
}

void net_put_header(uint8_t *frame, const uint8_t *to, uint32_t type)
{
    memcpy(frame, to, 6);
    memcpy(frame + 6, net_hardware_address, 6);
    net_put16(frame + 12, type);
}

/* ---- messages from the driver ---- */

static void opened(void)
{
    const struct ethernet_open_ok *body = (const struct ethernet_open_ok *)domain_current->payload;

    memcpy(net_hardware_address, body->address, 6);
    net_inserts = body->features;
    memset(transmit_is_free, 1, sizeof transmit_is_free);
    next_transmit = 0;
    held = NONE;
    num_read = 0;
    is_open = 1;
    is_closing = 0;
    for (uint32_t slot = 0; slot < NUM_RECEIVE; slot++) {
        lend(slot);
    }
}

/* Returns 1 if net_packet was filled. */
static int received(void)
{
    uint32_t slot = (uint32_t)domain_current->cookie;
    const struct ethernet_received *body = (const struct ethernet_received *)domain_current->payload;
    uint32_t bytes = body->length;

    if (slot >= NUM_RECEIVE || bytes < ETHER_HEADER || bytes > BUFFER) {
        panic("the driver says that it has filled buffer %u with %u bytes\n", slot, bytes);
    }
    const uint8_t *frame = frame_of(NUM_TRANSMIT + slot);
    uint32_t type = net_get16(frame + 12);
    net_count.received++;
    held = slot;
    if (type == ETHER_ARP) {
        net_received_arp(frame + ETHER_HEADER, bytes - ETHER_HEADER);
    }
    return type == ETHER_IP && net_received_ip(frame + ETHER_HEADER, bytes - ETHER_HEADER, body->checked) &&
           !net_answer_ping();
}

static void transmitted(void)
{
    uint64_t slot = domain_current->cookie;
    if (slot < NUM_TRANSMIT) {
        transmit_is_free[slot] = 1;
    }
}

/* Asks for the interface; the answer comes. */
static void open_interface(void)
{
    uint64_t bytes = 0;

    data = domain_data(PORT, &bytes);
    is_open = 0;
    link_is_up = 0;
    emit(ETHERNET_OPEN, 0, 0, 0);
}

static enum net_event changed(int is_up)
{
    link_is_up = is_up;
    return NET_CHANGED;
}

enum net_event net_wait(uint64_t deadline)
{
    if (held != NONE && is_open && !is_closing) {
        give_back(held);
    }
    held = NONE;
    uint32_t mailbox = await_message(deadline);
    switch (mailbox) {
    case DOMAIN_TIMEOUT:
        return NET_TIMEOUT;
    case AT(PORT, MAIL_LINK_UP):
        open_interface();
        return NET_OTHER;
    case AT(PORT, MAIL_LINK_LOST):
        net_count.lost_driver++;
        is_open = 0;
        data = 0;
        return changed(0);
    case ETHERNET_OPEN_OK:
        opened();
        return NET_CHANGED;
    case ETHERNET_OPEN_FAIL:
        /* The driver has no device yet: ask again; its answers set the pace. */
        sys_sleep(sys_clock() + 10000000);
        open_interface();
        return NET_OTHER;
    case ETHERNET_RECEIVED:
        return received() ? NET_PACKET : NET_OTHER;
    case ETHERNET_TRANSMIT_DONE:
        transmitted();
        return NET_OTHER;
    case ETHERNET_LINK_UP:
        return changed(1);
    case ETHERNET_LINK_DOWN:
        return changed(0);
    case ETHERNET_GONE:
        /* The interface is closed, and opened again when there is a device again. */
        is_closing = 1;
        emit(ETHERNET_CLOSE, 0, 0, 0);
        return changed(0);
    case ETHERNET_CLOSE_OK:
        open_interface();
        return NET_CHANGED;
    default:
        return NET_OTHER;
    }
}
