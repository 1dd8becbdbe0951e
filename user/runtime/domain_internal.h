/* What the files of the domain share. */
#ifndef ASHLAR_DOMAIN_INTERNAL_H
#define ASHLAR_DOMAIN_INTERNAL_H

#include "ashlar/domain.h"

/* Kept out of the way of messages that flow. */
#define SELDOM __attribute__((noinline))
/* On the way of each message, and so part of each caller. */
#define OFTEN inline __attribute__((always_inline))

/* A message that was taken from its ring, or made here, before anybody awaited it. */
struct pending {
    struct mail mail; /* its mailbox is the local one: port << 8 | message */
    int64_t age;      /* older ones have less */
    struct pending *next;
};

struct domain {
    uint32_t wake;                          /* slot of the own notification */
    uint64_t events;                        /* bits of it that were set and not awaited yet */
    struct mail_port *linked[DOMAIN_PORTS]; /* those with a link */
    uint32_t num_linked;
    uint32_t num_leaving;
    uint32_t has_clients; /* several, who compete: each AWAIT is another one's turn */
    uint64_t knock_at;    /* when the driver of a client's link is signalled again, or never */
    uint64_t knock_pause;
    uint32_t turn;              /* which of them is looked at first */
    uint32_t awaits;            /* since it last took in signals */
    uint32_t ahead;             /* AWAITs from the last look around to the next one */
    uint32_t waiting;           /* bits of ports with pending messages */
    int64_t age;                /* of the next pending message */
    int64_t first_age;          /* ... of one that goes before all others */
    uint8_t *emit_payload;      /* between domain_emit_begin and domain_emit_end; null: it goes by domain_send() */
    uint32_t interrupt_is_open; /* the driver listens to an interrupt that can come */
    uint64_t timer_fires;       /* deadline, or never */
};

extern struct domain domain;

/* The port whose ring has messages that are known, and nothing else is to be looked at before they are taken: AWAIT does that
 * without a look around. Without such a port it is one that has no ring. */
extern struct mail_port *domain_known;
#define DOMAIN_NONE_KNOWN (&domain_ports[DOMAIN_EVENTS])

/* Where a message goes, or comes from. */
enum { ROUTE_LINK, ROUTE_INTERRUPT, ROUTE_TIMER, ROUTE_NOWHERE };
uint32_t domain_route(const struct mail_port *port, uint32_t message);

/* Appends a pending message that its owner holds: an interrupt, a timer. `is_first`: before all others. */
void domain_append(struct pending *pending, uint32_t mailbox, uint32_t is_first);
/* Takes it back if it is still pending. */
void domain_retract(struct pending *pending);

/* Sends a message in the ways that are not usual: the driver's that its monitor does not allow ends here, one for which there is no
 * room cuts the peer off, others are dropped or the domain's own. Returns 0. */
uint32_t domain_unsent(struct mail_port *port, uint32_t message, uint64_t cookie, const void *body, uint64_t size);

/* A message that the monitor of a driver's port does not allow was taken: its sender is cut off, and AWAIT goes on. */
uint32_t domain_refused(const struct mail_set *set, uint64_t deadline, struct mail_port *port, uint32_t message,
                        enum monitor_verdict verdict);

/* The peer has broken the rules: nothing is sent to it or taken from it any more. */
void domain_cut(struct mail_port *port);

/* Whether a set has a mailbox. */
static inline int is_in(const struct mail_set *set, uint32_t mailbox)
{
    return (set->mask[mailbox >> 8] >> (mailbox & 63u) & 1u) != 0;
}

/* ... of messages: makes room for those of a port, so that no peer can take the room of another one's; takes the oldest of the set;
 * keeps one of the port that is not awaited now, or returns 0 if there are too many; forgets those of a link that is no more. */
void pending_start(struct mail_port *port);
uint32_t pending_take(const struct mail_set *set, struct mail *mail); /* its mailbox, or DOMAIN_TIMEOUT */
int pending_keep(struct mail_port *port, uint32_t message);
void pending_forget(uint32_t port);

/* Continues setting up a link; notes one that came up or went down. Not before a client's program has taken the loss of the one before:
 * until then it has none. */
void domain_advance_link(struct mail_port *port);

/* A link is no more: forgets what was not taken from it. A client's program that has taken MAIL_LINK_UP gets MAIL_LINK_LOST. */
void domain_lose(struct mail_port *port);

/* Signals the drivers that have not taken the first page of their client's link yet. */
void domain_knock(uint64_t now);

/* A driver's link has come up: addresses of its data pages; it is no more. */
void dma_link_up(uint32_t port);
void dma_link_down(uint32_t port);

/* The client has signalled and sent nothing: begins to serve another one if there is one. Goes on where a protocol is led to its
 * end, before each look for messages. Requires: the port is a driver's. */
void farewell_look(struct mail_port *port);
void farewell_continue(void);

/* Interrupts: what the driver emits, what the kernel signals, whether one that could have come is to be asked for. */
void interrupt_start(void);
void interrupt_emit(uint32_t mailbox);
void interrupt_has_fired(void);
extern uint64_t interrupt_bit; /* its bit in the notification, or 0 */
uint32_t interrupt_must_poll(uint32_t more_awaits);
uint32_t interrupt_awaits_left(void); /* until then, the next one among them: at least 1 */
extern uint32_t interrupt_is_first;   /* it goes before all other messages */

/* The timer. */
void timer_emit(uint32_t message, const void *payload);
void timer_has_fired(void);

/* The run-time monitor of a driver's protocols. What a driver sends and gets is checked in every image: a driver that breaks
 * its protocol ends, and a client that does is cut off. */
void monitored_start(struct mail_port *port);
_Noreturn void monitored_bad_emit(const struct mail_port *port, uint32_t mailbox, enum monitor_verdict verdict);
void monitored_bad_receive(const struct mail_port *port, uint32_t mailbox, enum monitor_verdict verdict);

/* Debug images check that every AWAIT can end, too, and that the driver may return. */
#ifdef ASHLAR_MONITOR
#define MUST_MONITOR_AWAITS 1u
void monitored_await(const struct mail_set *set);
void monitored_return(void);
#else
#define MUST_MONITOR_AWAITS 0u
static inline void monitored_await(const struct mail_set *set)
{
    (void)set;
}
static inline void monitored_return(void)
{
}
#endif

#endif
