/* A port: this process's end of a link to another process that speaks one protocol, as the code on the way of each message
 * needs it. The domain's functions alone change it; programs do not look in here. */
#ifndef ASHLAR_MAIL_PORT_H
#define ASHLAR_MAIL_PORT_H

#include <stdint.h>

#include "ashlar/link.h"
#include "ashlar/monitor.h"
#include "ashlar/ring.h"

/* Open requests that a monitor can follow: 64 a word. */
#define PORT_MONITOR_WORDS 16u

struct pending;
struct mail_set;

/* Its size is a power of two, so that the way from a number to the port is short. */
struct __attribute__((aligned(512))) mail_port {
    struct link link;
    mail_taker *const *take;         /* by message: how those that come are taken */
    mail_sender *const *send;        /* ... and how others are sent */
    uint64_t sendable;               /* messages of `outgoing`, while the link is up */
    uint64_t incoming;               /* messages that this side receives over the link */
    uint64_t outgoing;               /* ... and sends over it */
    uint64_t says;                   /* ... and sends, over it, to the domain itself or nowhere */
    uint64_t own;                    /* ... to the domain itself */
    uint64_t number;                 /* of the port */
    uint32_t local;                  /* mailbox of message 0, as this process names it: number << 8 */
    uint32_t bit;                    /* 1 << number */
    struct monitor monitor;          /* of a driver's port */
    const struct protocol *protocol; /* null: no such port */
    uint32_t first;                  /* the protocol's first mailbox */
    uint32_t is_driver;
    uint32_t is_held;         /* a client's: nothing is sendable until domain_release() */
    uint32_t is_leaving;      /* the client was started anew: the protocol is led to its end */
    uint32_t is_linked;       /* 0: all its messages are the domain's own (timer) */
    uint32_t taken_at_signal; /* messages taken when the client signalled last */
    uint64_t client_bit;      /* that the client sets in the own notification; 0 if none is served anew here */
    uint64_t waiting;         /* messages of which some are pending */
    struct pending *pool;     /* room for its messages that are not awaited yet; null if it has no link */
    struct pending *unused;
    uint64_t open[PORT_MONITOR_WORDS];
    /* Sends what cannot go into the ring just so, for whatever reason. Returns 0. */
    uint32_t (*unsent)(struct mail_port *port, uint32_t message, uint64_t cookie, const void *body, uint64_t size);
    /* What the driver's port does with a message that its monitor does not allow: returns as domain_await() does. */
    uint32_t (*refused)(const struct mail_set *set, uint64_t deadline, struct mail_port *port, uint32_t message,
                        enum monitor_verdict verdict);
};

/* Takes the next message at a client's port, with so many words of payload. */
static inline __attribute__((always_inline)) uint32_t mail_pass(struct mail_port *port, struct mail *mail,
                                                                uint64_t message, uint32_t words)
{
    ring_take(&port->link.in, mail, words);
    return port->local | (uint32_t)message;
}

/* ... at a driver's port, where `check` is the message's. */
static inline __attribute__((always_inline)) uint32_t mail_follow(const struct mail_set *set, uint64_t deadline,
                                                                  struct mail_port *port, struct mail *mail,
                                                                  uint32_t message, uint32_t words,
                                                                  monitor_check *check)
{
    ring_take(&port->link.in, mail, words);
    enum monitor_verdict verdict = check(&port->monitor, mail->cookie, mail->payload, 8ul * words);
    return verdict == MONITOR_OK ? port->local + message : port->refused(set, deadline, port, message, verdict);
}

/* Puts a message of `bytes` bytes of payload into a client's ring. */
static inline __attribute__((always_inline)) uint32_t
mail_give(struct mail_port *port, uint32_t message, uint64_t cookie, const void *body, uint64_t size, uint64_t bytes)
{
    struct ring_producer *out = &port->link.out;

    if (__builtin_expect(size < bytes || out->at == out->end, 0)) {
        return port->unsent(port, message, cookie, body, size);
    }
    __builtin_memcpy(ring_put(out, message, cookie), body, bytes);
    return port->bit;
}

/* ... into a driver's, where `check` is the message's. The monitor looks at what is still this process's alone: the peer could change
 * what stands in the ring. */
static inline __attribute__((always_inline)) uint32_t mail_tell(struct mail_port *port, uint32_t message,
                                                                uint64_t cookie, const void *body, uint64_t size,
                                                                uint64_t bytes, monitor_check *check)
{
    struct ring_producer *out = &port->link.out;

    if (__builtin_expect(
            size < bytes || out->at == out->end || check(&port->monitor, cookie, body, bytes) != MONITOR_OK, 0)) {
        return port->unsent(port, message, cookie, body, size);
    }
    __builtin_memcpy(ring_put(out, message, cookie), body, bytes);
    return port->bit;
}

#endif
