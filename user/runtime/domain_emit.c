/* EMIT: in two steps, between which the payload is written to where it goes. */
#include "ashlar/domain.h"
#include "domain_internal.h"
#include "monitor_step.h"

static struct mail dropped; /* payload of a message that has no receiver */

/* A message without a receiver, or to the domain itself. */
static SELDOM void *emit_elsewhere(struct port *port, uint32_t mailbox)
{
    if (port->sendable != 0 && (port->outgoing >> (mailbox & 63u) & 1) != 0) {
        domain_cut(port); /* the ring is full: the peer leaves more unread than its protocol allows */
    }
    domain.emit_slot = 0;
    return dropped.payload;
}

void *domain_emit_begin(uint32_t mailbox, uint64_t cookie)
{
    struct port *port = &domain.port[mailbox >> 8];
    struct ring_producer *ring = &port->link.out;

    domain.emit_port = port;
    if ((port->sendable >> (mailbox & 63u) & 1) == 0) {
        return emit_elsewhere(port, mailbox);
    }
    struct mail *slot = ring_free_slot(ring);
    if (slot == 0) {
        return emit_elsewhere(port, mailbox);
    }
    domain.emit_slot = slot;
    slot->mailbox = port->first + (mailbox & 0xffu);
    slot->sequence = (uint32_t)ring->tail;
    slot->cookie = cookie;
    return slot->payload;
}

/* A message to the domain itself. */
static SELDOM void emit_here(const struct port *port, uint32_t mailbox)
{
    uint32_t message = mailbox & 0xffu;
    uint32_t route = domain_route(port, message);

    if (route == ROUTE_INTERRUPT) {
        interrupt_emit(mailbox);
    } else if (route == ROUTE_TIMER) {
        timer_emit(message, dropped.payload);
    }
}

/* The message is in the ring. */
static inline void emitted(struct port *port, uint32_t mailbox)
{
    if (domain.emit_slot != 0) {
        ring_put(&port->link.out);
        if (domain.unsignalled != &port->link) {
            domain.has_more_unsignalled |= domain.unsignalled != 0;
            domain.unsignalled = &port->link;
        }
    } else {
        emit_here(port, mailbox);
    }
}

static const struct mail *emitted_mail(void)
{
    return domain.emit_slot != 0 ? domain.emit_slot : &dropped;
}

/* A driver's message that takes the monitor longer. */
static SELDOM void emit_end_long(uint32_t mailbox, uint64_t cookie)
{
    struct port *port = domain.emit_port;
    enum monitor_verdict verdict = monitor_step(&port->monitor, mailbox, cookie, emitted_mail()->payload, 0);

    if (verdict != MONITOR_OK) {
        monitored_bad_emit(port, mailbox, verdict);
    }
    emitted(port, mailbox);
}

/* A driver's message: the monitor sees it first. Apart from the client's function, which so needs fewer registers. */
static SELDOM void emit_end_followed(uint32_t mailbox, uint64_t cookie)
{
    struct port *port = domain.emit_port;
    uint32_t verdict = monitor_short_step(&port->monitor, mailbox, cookie, emitted_mail()->payload, 0);

    if (verdict == MONITOR_NOT_SHORT) {
        emit_end_long(mailbox, cookie);
    } else if (verdict == MONITOR_OK) {
        emitted(port, mailbox);
    } else {
        monitored_bad_emit(port, mailbox, verdict);
    }
}

void domain_emit_end(uint32_t mailbox, uint64_t cookie)
{
    struct port *port = domain.emit_port;

    if (port->is_driver) {
        emit_end_followed(mailbox, cookie);
    } else {
        emitted(port, mailbox);
    }
}
