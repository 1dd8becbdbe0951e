/* A link: memory that a client and a driver share, with a ring each way and an area of data pages, and its set-up.
 *
 * The client owns the memory and offers it page by page through one share; the driver accepts. The first page says what
 * the link is like. Once the driver has all pages, the client offers the first one again: if the driver dies and is started
 * anew it finds that offer, and raises the count `epoch`, by which the client sees that all is to be set up again. */
#ifndef ASHLAR_LINK_H
#define ASHLAR_LINK_H

#include <stdint.h>

#include "ashlar/ring.h"

#define LINK_MAGIC 0x6b6e696c2d687361ul /* "ash-link" */
#define LINK_MAX_CAPACITY 4096u
#define LINK_MAX_PAGES 4096u
#define LINK_AREA 0x0000210000000000ul /* port i's link stands at + i * LINK_STEP */
#define LINK_STEP 0x0000000040000000ul
#define LINK_SPARE                                                                                                     \
    (LINK_MAX_PAGES * 4096ul) /* of a link's address: where a page is looked at that may be another client's */

#define LINK_PLACE (2 * LINK_SPARE) /* a link, and what is looked at */

/* The first words of every page while it is offered. */
struct link_mark {
    uint64_t magic;
    uint64_t index;
};

/* The first page. */
struct link_page {
    struct link_mark mark;
    uint32_t protocol;
    uint32_t capacity; /* of each ring */
    uint32_t pages;    /* of the whole link */
    uint32_t spare;
    uint64_t epoch;    /* written by the driver: how often a driver has accepted the link */
    uint64_t accepted; /* written by the driver: pages, in this epoch */
    uint64_t ready;    /* written by the client: the epoch for which the rings are empty and in order */
    uint64_t broken;   /* set by either side, for ever: the other has not kept to the rules */
    struct ring_shared to_driver;
    struct ring_shared to_client;
};

enum link_state { LINK_NONE, LINK_JOINING, LINK_UP, LINK_CUT };

struct link {
    enum link_state state;
    uint32_t is_driver;
    uint32_t share; /* slots */
    uint32_t signal;
    uint32_t protocol;
    uint32_t capacity;
    uint32_t pages;
    uint32_t joined; /* pages accepted, as this side knows */
    uint64_t epoch;
    uint64_t address;
    uint32_t has_moved; /* pages of other clients are still mapped where it was before */
    struct ring_producer out;
    struct ring_consumer in;
};

/* Makes the client's memory and offers it. Returns a status. */
uint32_t link_offer(struct link *link);

/* Goes on with what is to be done, if anything is: after every wake-up. Returns 1 if the link has come up (state LINK_UP) or
 * is no longer up (any other state), else 0. */
uint32_t link_advance(struct link *link);

/* The driver's side, of a link that has all its pages: 1 if a client that was started anew has offered its first page, which is given
 * back. */
uint32_t link_is_replaced(const struct link *link);

/* Gives the pages back and begins anew, for another client. */
void link_rejoin(struct link *link);

/* ... at another address, as pages whose addresses a device knows stay where they are. Returns 0 if there is none left: the link is of
 * no use then. */
uint32_t link_rejoin_elsewhere(struct link *link);

/* No word will be exchanged any more with a peer that broke the rules. */
void link_cut(struct link *link);

static inline struct link_page *link_page(const struct link *link)
{
    return (struct link_page *)link->address;
}

/* 1 if the link is up and nothing needs to be done: link_advance() need not be called. */
static inline int link_is_quiet(const struct link *link)
{
    const struct link_page *page = link_page(link);
    return link->state == LINK_UP && __atomic_load_n(&page->epoch, __ATOMIC_RELAXED) == link->epoch &&
           __atomic_load_n(&page->broken, __ATOMIC_RELAXED) == 0;
}

/* Pages before the data area. */
static inline uint32_t link_ring_pages(uint32_t capacity)
{
    return 1 + 2 * (capacity * (uint32_t)sizeof(struct mail) / 4096u);
}

#endif
