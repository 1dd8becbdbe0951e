/* A cooperative domain: one process's mailboxes, and its threads of which at most one runs. They switch only inside AWAIT;
 * the dispatcher then goes on with the thread whose mailbox has filled, and if there is none, the process waits.
 *
 * A port is this process's end of a link to another process that speaks one protocol. The high byte of a mailbox names the
 * port. A driver's ports have the numbers of their protocols, so that the constants of the generated headers can be
 * used as they are; a client of several drivers of one protocol, or a driver of several clients, gives them other numbers and
 * says AT(port, mailbox). */
#ifndef ASHLAR_DOMAIN_H
#define ASHLAR_DOMAIN_H

#include <stdint.h>

#include "ashlar/mail_port.h"

#define DOMAIN_PORTS 16u /* 0 is DOMAIN_EVENTS */
#define DOMAIN_THREADS 4u
#define AT(port, mailbox) ((uint32_t)(port) << 8 | ((mailbox)&0xffu))

/* Mailbox AT(DOMAIN_EVENTS, n) holds an empty message when bit n of the process's notification was set: the slot of a child
 * that has ended or of a console with input. */
#define DOMAIN_EVENTS 0u

/* A client learns so that the driver was started anew, which has forgotten all, and that a link is there (again). They come in turn:
 * the link is not made again before the client has taken its loss, so it never speaks to a driver of which it does not know. A link
 * that is lost before the client has taken that it was there was none. */
#define MAIL_LINK_LOST 62u
#define MAIL_LINK_UP 63u

struct mail_set {
    uint64_t mask[DOMAIN_PORTS]; /* by port: a bit for each message */
};

/* The message that the running thread has taken last. */
extern const struct mail *domain_current;

/* Finds this process's own notification, which has its name. */
void domain_start(void);

/* The process's end of a link as the driver. A client that is started anew is served: the protocol is led to its end in the place of the
 * one that is gone, by messages that the driver awaits anyway. A process with the right to DMA then ends, for its parent to start it
 * again. The process has the share `SELF-PROTOCOL` and may signal notification `CLIENT`, where
 * CLIENT is the text of argument PROTOCOL. The link comes up while the domain runs. */
void domain_serve(const struct protocol *protocol);

/* ... for one of several clients of the protocol, each at a port of its own: the process has the share and may signal
 * notification `client`. The protocol, the monitor and the room for messages that are not awaited are this link's own. Not for
 * protocols like `pci` whose messages come in part from the domain itself. */
void domain_serve_at(uint32_t port, const struct protocol *protocol, const char *client, const char *share);

/* ... and as the client of driver DRIVER: share `DRIVER-PROTOCOL-SELF` if this process has it, for a driver of several clients,
 * else `DRIVER-PROTOCOL`; and notification `DRIVER`. The memory is the client's: two rings of `capacity` messages and
 * `data_pages` pages. */
void domain_connect(uint32_t port, const char *driver, const struct protocol *protocol, uint32_t capacity,
                    uint32_t data_pages);

/* Sending, in two steps: where the payload goes, and that it is there. */
void *domain_emit_begin(uint32_t mailbox, uint64_t cookie);
void domain_emit_end(uint32_t mailbox, uint64_t cookie);

/* ... and in one: `size` bytes of payload, at most MAIL_PAYLOAD. */
void domain_send(uint32_t mailbox, uint64_t cookie, const void *body, uint64_t size);

extern struct mail_port domain_ports[DOMAIN_PORTS];
/* Bits of ports at which messages were put in that their peers do not know of. */
extern uint32_t domain_unpublished;

#ifdef DOMAIN_ELSEWHERE
/* The driver is part of another system (linux), or of a test, whose EMIT has two steps. */
static inline void domain_emit(uint32_t mailbox, uint64_t cookie, const void *body, uint64_t size)
{
    void *payload = domain_emit_begin(mailbox, cookie);

    if (size != 0) {
        __builtin_memcpy(payload, body, size);
    }
    domain_emit_end(mailbox, cookie);
}
#else
/* The same where the mailbox is a constant, so that the port is one, too. What is not sent in the usual way is left to
 * domain_send(). */
static inline __attribute__((always_inline)) void domain_emit(uint32_t mailbox, uint64_t cookie, const void *body,
                                                              uint64_t size)
{
    struct mail_port *port = &domain_ports[mailbox >> 8 & (DOMAIN_PORTS - 1)];
    struct ring_producer *out = &port->link.out;

    if (!__builtin_constant_p(mailbox) || (port->sendable >> (mailbox & 63u) & 1) == 0) {
        domain_send(mailbox, cookie, body, size);
    } else if (port->is_driver) {
        domain_unpublished |= port->send[mailbox & 63u](port, cookie, body, size);
    } else if (out->at == out->end) {
        domain_send(mailbox, cookie, body, size);
    } else {
        uint8_t *payload = ring_put(out, mailbox & 63u, cookie);
        if (size != 0) {
            __builtin_memcpy(payload, body, size);
        }
        domain_unpublished |= 1u << (mailbox >> 8);
    }
}
#endif

/* Lets the peers see what was sent, and wakes those that wait for it. AWAIT does it too: before, an awake peer need not see it. */
void domain_flush(void);

/* Blocks until one of the set's mailboxes holds a message, or `deadline` (ns since boot) has passed: then returns
 * DOMAIN_TIMEOUT. Drivers use the timer protocol instead. */
#define DOMAIN_TIMEOUT 0xffffffffu
uint32_t domain_await(const struct mail_set *set, uint64_t deadline);

/* For a client that waits by other means, for other things too: `bits` are those that it has got from its notification. Takes a
 * message of the set, or returns DOMAIN_TIMEOUT: then there is none, and the notification is signalled when one comes. */
uint32_t domain_poll(const struct mail_set *set, uint64_t bits);

/* ... and when such a client is to call it at the latest, in ns since boot, though nothing was signalled: a driver may have missed
 * that this client is there. */
uint64_t domain_poll_at(void);

/* Starts a further thread of the domain: it begins when the running one awaits. */
void domain_thread(void (*function)(void));

/* Whether interrupt messages are taken before all others, or in their order (the default). */
void domain_interrupts_first(uint32_t is_first);

/* For a client: what it emits is dropped until it has taken MAIL_LINK_UP and said so, each time. Otherwise what it emits after a link
 * was made and before it takes that message may be for a driver that it does not know of yet. */
void domain_hold(uint32_t port);
void domain_release(uint32_t port);

/* A client: the driver has sent what its protocol does not have. It is cut off, and the program gets MAIL_LINK_LOST; the link comes
 * up again with the driver's successor. A driver that is gone already is not. */
void domain_refuse(uint32_t port);

/* The program ends: the peers are signalled. In a debug image every protocol that it serves must be in a final state. */
void domain_end(void);

/* The data area of a port's link, null while the link is not up. */
void *domain_data(uint32_t port, uint64_t *bytes);

#endif
