/* What `ethtool` shows of the interface. */
#include "net_internal.h"

#include <linux/ethtool.h>

/* In the order of struct ethernet_statistics. */
static const char names[][ETH_GSTRING_LEN] = {"sent", "received", "missed", "errors", "collisions"};

static void get_drvinfo(struct net_device *net, struct ethtool_drvinfo *info)
{
    strscpy(info->driver, MODULE_NAME, sizeof info->driver);
    strscpy(info->bus_info, dev_name(net->dev.parent), sizeof info->bus_info);
}

static int get_sset_count(struct net_device *net, int set)
{
    return set == ETH_SS_STATS ? ARRAY_SIZE(names) : -EOPNOTSUPP;
}

static void get_strings(struct net_device *net, uint32_t set, uint8_t *text)
{
    if (set == ETH_SS_STATS) {
        memcpy(text, names, sizeof names);
    }
}

/* Of a closed interface: what was counted last. */
static void get_statistics(struct net_device *net, struct ethtool_stats *unused, uint64_t *values)
{
    struct ethernet_statistics statistics;

    mail_statistics(&statistics);
    memcpy(values, &statistics, sizeof statistics);
}

static int get_link_ksettings(struct net_device *net, struct ethtool_link_ksettings *settings)
{
    bool is_up = netif_carrier_ok(net);

    settings->base.speed = is_up ? interface.megabits : SPEED_UNKNOWN;
    settings->base.duplex = !is_up ? DUPLEX_UNKNOWN : interface.is_full_duplex ? DUPLEX_FULL : DUPLEX_HALF;
    settings->base.port = PORT_TP;
    return 0;
}

const struct ethtool_ops net_ethtool_ops = {
    .get_drvinfo = get_drvinfo,
    .get_link = ethtool_op_get_link,
    .get_sset_count = get_sset_count,
    .get_strings = get_strings,
    .get_ethtool_stats = get_statistics,
    .get_link_ksettings = get_link_ksettings,
};
