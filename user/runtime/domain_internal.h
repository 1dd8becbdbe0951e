/* What the files of the domain share. */
#ifndef ASHLAR_DOMAIN_INTERNAL_H
#define ASHLAR_DOMAIN_INTERNAL_H

#include "ashlar/domain.h"

/* Open requests that a monitor can follow: 64 a word. */
#define PORT_MONITOR_WORDS 16u

/* Kept out of the way of messages that flow. */
#define SELDOM __attribute__((noinline))
/* On the way of each message, and so part of each caller. */
#define OFTEN inline __attribute__((always_inline))

struct port {
    struct link link;
    const struct protocol *protocol; /* null: no such port */
    uint32_t number;
    uint32_t first;    /* the protocol's first mailbox */
    uint64_t incoming; /* messages that this side receives over the link */
    uint64_t outgoing; /* ... and sends over it */
    uint64_t sendable; /* those, while the link is up */
    uint32_t is_driver;
    uint32_t is_held;        /* a client's: nothing is sendable until domain_release() */
    uint64_t client_bit;     /* that the client sets in the own notification; 0 if none is served anew here */
    uint64_t head_at_signal; /* messages taken when the client signalled last */
    uint32_t is_leaving;     /* the client was started anew: the protocol is led to its end */
    uint32_t is_linked;      /* 0: all its messages are the domain's own (timer) */
    struct monitor monitor;
    uint64_t open[PORT_MONITOR_WORDS];
    struct pending *pool; /* room for its messages that are not awaited yet; null if it has no link */
    struct pending *unused;
};

/* A message that was taken from its ring, or made here, before anybody awaited it. */
struct pending {
    struct mail mail; /* its mailbox is the local one: port << 8 | message */
    struct pending *next;
};

struct domain {
    struct port port[DOMAIN_PORTS];
    uint32_t wake;                     /* slot of the own notification */
    uint64_t events;                   /* bits of it that were set and not awaited yet */
    struct port *linked[DOMAIN_PORTS]; /* those with a link */
    uint32_t num_linked;
    uint32_t num_leaving;
    uint64_t knock_at; /* when the driver of a client's link is signalled again, or never */
    uint64_t knock_pause;
    uint32_t turn;         /* which of them is looked at first */
    uint32_t awaits;       /* since it last took in signals */
    struct pending *first; /* pending messages, oldest first */
    struct pending *last;
    struct mail *mail;             /* where the running thread's message is kept until its next AWAIT */
    struct link *unsignalled;      /* its peer has messages that it was not signalled for */
    uint32_t has_more_unsignalled; /* so have the peers of other links */
    struct port *emit_port;        /* between domain_emit_begin and domain_emit_end */
    struct mail *emit_slot;        /* null: not over a link */
    uint32_t interrupt_is_open;    /* the driver listens to an interrupt that can come */
    uint64_t timer_fires;          /* deadline, or never */
};

extern struct domain domain;

/* Where a message goes, or comes from. */
enum { ROUTE_LINK, ROUTE_INTERRUPT, ROUTE_TIMER, ROUTE_NOWHERE };
uint32_t domain_route(const struct port *port, uint32_t message);

/* Appends a pending message that its owner holds: an interrupt, a timer. `is_first`: before all others. */
void domain_append(struct pending *pending, uint32_t mailbox, uint32_t is_first);
/* Takes it back if it is still pending. */
void domain_retract(struct pending *pending);

/* The peer has broken the rules: nothing is sent to it or taken from it any more. */
void domain_cut(struct port *port);

/* Whether a set has a mailbox. */
static inline int is_in(const struct mail_set *set, uint32_t mailbox)
{
    return (set->mask[mailbox >> 8] >> (mailbox & 63u) & 1u) != 0;
}

/* ... of messages: makes room for those of a port, so that no peer can take the room of another one's; takes the oldest of the set;
 * keeps one of the port that is not awaited now, or returns 0 if there are too many; forgets those of a link that is no more. */
void pending_start(struct port *port);
int pending_take(const struct mail_set *set, struct mail *mail);
int pending_keep(struct port *port, const struct mail *mail);
void pending_forget(uint32_t port);

/* Continues setting up links; notes links that came up or went down. */
void domain_advance_link(struct port *port);

/* A driver's link has come up: addresses of its data pages; it is no more. */
void dma_link_up(uint32_t port);
void dma_link_down(uint32_t port);

/* The client has signalled and sent nothing: begins to serve another one if there is one. Goes on where a protocol is led to its
 * end, before each look for messages. Requires: the port is a driver's. */
void farewell_look(struct port *port);
void farewell_continue(void);

/* Interrupts: what the driver emits, what the kernel signals, whether one that could have come is to be asked for. */
void interrupt_start(void);
void interrupt_emit(uint32_t mailbox);
void interrupt_has_fired(void);
extern uint64_t interrupt_bit; /* its bit in the notification, or 0 */
uint32_t interrupt_must_poll(void);

/* The timer. */
void timer_emit(uint32_t message, const void *payload);
void timer_has_fired(void);

/* The run-time monitor of a driver's protocols. What a driver sends and gets is checked in every image: a driver that breaks
 * its protocol ends, and a client that does is cut off. */
void monitored_start(struct port *port);
_Noreturn void monitored_bad_emit(const struct port *port, uint32_t mailbox, enum monitor_verdict verdict);
void monitored_bad_receive(const struct port *port, uint32_t mailbox, enum monitor_verdict verdict);

/* Debug images check that every AWAIT can end, too, and that the driver may return. */
#ifdef ASHLAR_MONITOR
void monitored_await(const struct mail_set *set);
void monitored_return(void);
#else
static inline void monitored_await(const struct mail_set *set)
{
    (void)set;
}
static inline void monitored_return(void)
{
}
#endif

#endif
