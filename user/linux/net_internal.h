/* What the files of the network interface share. */
#ifndef ASHLAR_NET_INTERNAL_H
#define ASHLAR_NET_INTERNAL_H

#include <linux/mutex.h>
#include <linux/skbuff.h>

#include "module.h"

#define BUFFER_SIZE 2048u /* two to a page */
#define NUM_RECEIVE 128u  /* buffers that the driver has for frames to come */

/* The client of the protocol `ethernet`: one interface. */
struct interface {
    struct net_device *net;
    uint8_t address[6];
    uint32_t features; /* as the driver says */
    uint32_t megabits; /* of the link */
    bool is_full_duplex;

    /* Whether requests may be sent: set after the answer to open, cleared before close is sent. Guarded by `gate`, which is
     * held while one is sent, so that none comes after the close. */
    bool is_open;
    spinlock_t gate;

    /* Transmissions that are not under way. Guarded by `gate`. */
    uint16_t free[ETHERNET_MAX_TRANSMIT_SLOT];
    uint32_t num_free;
    uint16_t length[ETHERNET_MAX_TRANSMIT_SLOT]; /* of those under way */

    /* One question at a time is open: guarded by `control`, which sleeps. */
    struct mutex control;
    struct question question;
    struct work_struct filter_work;
    struct ethernet_statistics statistics; /* the last answer */

    struct sk_buff_head received; /* frames that Linux has not taken yet; in their order */
    struct napi_struct napi;
};

/* ---- net_mail.c ---- */
extern struct interface interface;

/* Opens and closes the driver. */
int mail_open(void);
void mail_close(void);

/* Sends a frame, which is copied. Returns false if no slot is free. */
bool mail_transmit(struct sk_buff *frame);

/* What a client may ask an open driver. Returns 0 or an error. */
int mail_filter(const struct ethernet_set_filter *filter);
int mail_address(const uint8_t address[6]);
int mail_statistics(struct ethernet_statistics *statistics);

/* ---- net_ethtool.c ---- */
extern const struct ethtool_ops net_ethtool_ops;

#endif
