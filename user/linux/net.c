/* Linux's network interface, which is the driver's client. Frames are copied, both ways, between Linux's buffers and the memory
 * that the driver knows. */
#include "net_internal.h"

#include <linux/crc32.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>

#define MOST_GROUPS 32u

/* The number of a multicast group's bit. */
static uint32_t group_bit(const uint8_t *address)
{
    return ether_crc(ETH_ALEN, address) >> 26;
}

/* Sends what Linux wants to receive. In a thread of Linux's, because the answer is awaited. */
static void update_filter(struct work_struct *unused)
{
    struct net_device *net = interface.net;
    struct ethernet_set_filter filter = {0, 0};
    struct netdev_hw_addr *group;

    netif_addr_lock_bh(net);
    if ((net->flags & IFF_PROMISC) != 0) {
        filter.mode = 3;
    } else if ((net->flags & IFF_ALLMULTI) != 0 || netdev_mc_count(net) > MOST_GROUPS) {
        filter.mode = 2;
    } else if (!netdev_mc_empty(net)) {
        filter.mode = 1;
        netdev_for_each_mc_addr(group, net)
        {
            filter.groups |= 1ull << group_bit(group->addr);
        }
    }
    netif_addr_unlock_bh(net);
    mail_filter(&filter);
}

static void set_rx_mode(struct net_device *net)
{
    schedule_work(&interface.filter_work);
}

static int open(struct net_device *net)
{
    int error;

    netif_carrier_off(net);
    netdev_reset_queue(net);
    napi_enable(&interface.napi);
    error = mail_open();
    if (error != 0) {
        napi_disable(&interface.napi);
        return error;
    }
    if (!ether_addr_equal(net->dev_addr, interface.address)) {
        mail_address(net->dev_addr); /* Linux was given another one */
    }
    netif_start_queue(net);
    return 0;
}

static int stop(struct net_device *net)
{
    netif_tx_disable(net);
    cancel_work_sync(&interface.filter_work);
    mail_close();
    napi_disable(&interface.napi);
    skb_queue_purge(&interface.received);
    netif_carrier_off(net);
    return 0;
}

static netdev_tx_t start_xmit(struct sk_buff *frame, struct net_device *net)
{
    if (skb_put_padto(frame, ETH_ZLEN) != 0) {
        return NETDEV_TX_OK; /* it is freed already */
    }
    netdev_sent_queue(net, frame->len);
    if (!mail_transmit(frame)) {
        netdev_completed_queue(net, 1, frame->len);
        net->stats.tx_dropped++;
    }
    dev_consume_skb_any(frame);
    return NETDEV_TX_OK;
}

static int set_mac_address(struct net_device *net, void *address)
{
    int error = eth_prepare_mac_addr_change(net, address);

    if (error == 0) {
        eth_commit_mac_addr_change(net, address);
        if (netif_running(net)) {
            error = mail_address(net->dev_addr);
        }
    }
    return error;
}

static int poll(struct napi_struct *napi, int budget)
{
    int count = 0;

    while (count < budget) {
        struct sk_buff *frame = skb_dequeue(&interface.received);
        if (!frame) {
            break;
        }
        napi_gro_receive(napi, frame);
        count++;
    }
    if (count < budget && napi_complete_done(napi, count) && !skb_queue_empty(&interface.received)) {
        napi_schedule(napi); /* it came after the last look */
    }
    return count;
}

static const struct net_device_ops operations = {
    .ndo_open = open,
    .ndo_stop = stop,
    .ndo_start_xmit = start_xmit,
    .ndo_set_rx_mode = set_rx_mode,
    .ndo_set_mac_address = set_mac_address,
    .ndo_validate_addr = eth_validate_addr,
};

/* Only an open driver says its device's address. */
static int ask_address(void)
{
    int error = mail_open();

    if (error == 0) {
        mail_close();
    }
    return error;
}

static void set_features(struct net_device *net)
{
    if ((interface.features & 6u) == 6u) {
        net->hw_features = NETIF_F_SG | NETIF_F_IP_CSUM | NETIF_F_RXCSUM;
        net->features |= net->hw_features;
        net->vlan_features = NETIF_F_SG;
    }
}

void net_prepare(void)
{
    spin_lock_init(&interface.gate);
    mutex_init(&interface.control);
    init_completion(&interface.question.answered);
    INIT_WORK(&interface.filter_work, update_filter);
    skb_queue_head_init(&interface.received);
    for (uint32_t slot = 0; slot < ETHERNET_MAX_TRANSMIT_SLOT; slot++) {
        interface.free[interface.num_free++] = slot;
    }
}

int net_begin(struct device *device)
{
    struct net_device *net = alloc_etherdev(0);
    int error;

    if (!net) {
        return -ENOMEM;
    }
    SET_NETDEV_DEV(net, device);
    interface.net = net;
    netif_carrier_off(net);
    net->netdev_ops = &operations;
    net->ethtool_ops = &net_ethtool_ops;
    netif_napi_add(net, &interface.napi, poll);
    error = ask_address();
    if (error == 0) {
        eth_hw_addr_set(net, interface.address);
        set_features(net);
        error = register_netdev(net);
    }
    if (error != 0) {
        interface.net = NULL;
        free_netdev(net);
    }
    return error;
}

void net_end(void)
{
    struct net_device *net = interface.net;

    unregister_netdev(net);
    cancel_work_sync(&interface.filter_work);
    interface.net = NULL;
    free_netdev(net);
}

void net_suspend(void)
{
    netif_device_detach(interface.net);
}

void net_resume(void)
{
    netif_device_attach(interface.net);
}
