/* The messages between Linux's network interface and the driver. */
#include "net_internal.h"

#include <linux/etherdevice.h>
#include <linux/ip.h>

struct interface interface;

static void *buffer_memory(uint32_t offset)
{
    return (void *)(uintptr_t)dma_memory(ETHERNET_NUMBER, offset);
}

/* Buffers of transmissions stand first, then those for frames to come. */
static uint32_t transmit_buffer(uint32_t slot)
{
    return slot * BUFFER_SIZE;
}

static uint32_t receive_buffer(uint32_t slot)
{
    return (ETHERNET_MAX_TRANSMIT_SLOT + slot) * BUFFER_SIZE;
}

/* ---- questions ---- */

/* Requires: `control`. */
static uint32_t ask(uint32_t mailbox, const void *payload, size_t size)
{
    return question_ask(&interface.question, mailbox, payload, size);
}

/* ... of an open driver. */
static int ask_open(uint32_t mailbox, const void *payload, size_t size, uint32_t answer)
{
    int error = -ENETDOWN;

    mutex_lock(&interface.control);
    if (interface.is_open) {
        error = ask(mailbox, payload, size) == answer ? 0 : -EIO;
    }
    mutex_unlock(&interface.control);
    return error;
}

int mail_filter(const struct ethernet_set_filter *filter)
{
    return ask_open(ETHERNET_SET_FILTER, filter, sizeof *filter, ETHERNET_FILTER_SET);
}

int mail_address(const uint8_t address[6])
{
    return ask_open(ETHERNET_SET_ADDRESS, address, ETH_ALEN, ETHERNET_ADDRESS_SET);
}

int mail_statistics(struct ethernet_statistics *statistics)
{
    int error = ask_open(ETHERNET_GET_STATISTICS, NULL, 0, ETHERNET_STATISTICS);

    *statistics = interface.statistics;
    return error;
}

/* ---- requests ---- */

/* Requires: `gate`, and that the driver is open. */
static void give_receive_buffer(uint32_t slot)
{
    const struct ethernet_receive_buffer body = {receive_buffer(slot), BUFFER_SIZE};

    domain_post(ETHERNET_RECEIVE_BUFFER, slot, &body, sizeof body);
}

int mail_open(void)
{
    int error = -EIO;

    mutex_lock(&interface.control);
    if (ask(ETHERNET_OPEN, NULL, 0) == ETHERNET_OPEN_OK) {
        spin_lock_bh(&interface.gate);
        interface.is_open = true;
        for (uint32_t slot = 0; slot < NUM_RECEIVE; slot++) {
            give_receive_buffer(slot);
        }
        spin_unlock_bh(&interface.gate);
        error = 0;
    }
    mutex_unlock(&interface.control);
    return error;
}

void mail_close(void)
{
    mutex_lock(&interface.control);
    spin_lock_bh(&interface.gate);
    interface.is_open = false;
    spin_unlock_bh(&interface.gate);
    ask(ETHERNET_CLOSE, NULL, 0);
    mutex_unlock(&interface.control);
}

/* Which checksums the driver is to insert. */
static uint16_t offload_of(const struct sk_buff *frame)
{
    if (frame->ip_summed != CHECKSUM_PARTIAL) {
        return 0;
    }
    return ip_hdr(frame)->protocol == IPPROTO_TCP ? 2 : 4;
}

bool mail_transmit(struct sk_buff *frame)
{
    struct ethernet_transmit body = {0, frame->len, offload_of(frame)};
    bool is_sent = false;

    spin_lock_bh(&interface.gate);
    if (interface.is_open && interface.num_free != 0) {
        uint32_t slot = interface.free[--interface.num_free];
        body.buffer = transmit_buffer(slot);
        skb_copy_bits(frame, 0, buffer_memory(body.buffer), frame->len);
        interface.length[slot] = frame->len;
        domain_post(ETHERNET_TRANSMIT, slot, &body, sizeof body);
        is_sent = true;
    }
    if (interface.num_free == 0) {
        netif_stop_queue(interface.net);
    }
    spin_unlock_bh(&interface.gate);
    return is_sent;
}

/* ---- what the driver sends ---- */

static void transmit_done(uint32_t slot, const struct ethernet_transmit_done *body)
{
    struct net_device_stats *stats = &interface.net->stats;
    uint32_t length = interface.length[slot];

    if (body->status == 0) {
        stats->tx_packets++;
        stats->tx_bytes += length;
    } else {
        stats->tx_errors += body->status == 2;
        stats->tx_dropped += body->status != 2;
    }
    spin_lock_bh(&interface.gate);
    interface.free[interface.num_free++] = slot;
    netdev_completed_queue(interface.net, 1, length);
    if (interface.is_open && netif_queue_stopped(interface.net) && netif_device_present(interface.net)) {
        netif_wake_queue(interface.net);
    }
    spin_unlock_bh(&interface.gate);
}

static void received(uint32_t slot, const struct ethernet_received *body)
{
    struct net_device *net = interface.net;
    struct sk_buff *frame = NULL;

    if (body->length <= BUFFER_SIZE) {
        frame = netdev_alloc_skb_ip_align(net, body->length);
    }
    if (frame) {
        skb_put_data(frame, buffer_memory(receive_buffer(slot)), body->length);
        frame->protocol = eth_type_trans(frame, net);
        if ((body->checked & 6u) != 0 && (net->features & NETIF_F_RXCSUM) != 0) {
            frame->ip_summed = CHECKSUM_UNNECESSARY;
        }
        net->stats.rx_packets++;
        net->stats.rx_bytes += body->length;
        skb_queue_tail(&interface.received, frame);
    } else {
        net->stats.rx_dropped++;
    }
    spin_lock_bh(&interface.gate);
    if (interface.is_open) {
        give_receive_buffer(slot);
    }
    spin_unlock_bh(&interface.gate);
}

void net_flush(void)
{
    if (!skb_queue_empty(&interface.received)) {
        local_bh_disable();
        napi_schedule(&interface.napi);
        local_bh_enable(); /* where Linux takes them */
    }
}

void net_received(uint32_t mailbox, uint64_t cookie, const void *payload)
{
    const struct ethernet_open_ok *opened = payload;
    const struct ethernet_link_up *link = payload;

    switch (mailbox) {
    case ETHERNET_TRANSMIT_DONE:
        transmit_done(cookie, payload);
        break;
    case ETHERNET_RECEIVED:
        received(cookie, payload);
        break;
    case ETHERNET_RECEIVE_RETURNED:
        break;
    case ETHERNET_LINK_UP:
        interface.megabits = link->megabits;
        interface.is_full_duplex = link->duplex != 0;
        netif_carrier_on(interface.net);
        break;
    case ETHERNET_LINK_DOWN:
    case ETHERNET_GONE:
        netif_carrier_off(interface.net);
        break;
    case ETHERNET_OPEN_OK:
        ether_addr_copy(interface.address, opened->address);
        interface.features = opened->features;
        question_answer(&interface.question, mailbox);
        break;
    case ETHERNET_STATISTICS:
        memcpy(&interface.statistics, payload, sizeof interface.statistics);
        question_answer(&interface.question, mailbox);
        break;
    default: /* an answer; its status says no more than that the device is lost, which is told otherwise */
        question_answer(&interface.question, mailbox);
        break;
    }
}

void net_broken(void)
{
    if (interface.net) {
        netif_carrier_off(interface.net);
    }
    question_answer(&interface.question, 0);
}
