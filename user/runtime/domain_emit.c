/* EMIT. What is usual is in ashlar/domain.h, where the mailbox is a constant. */
#include "ashlar/domain.h"
#include "ashlar/string.h"
#include "domain_internal.h"

/* The payload of a message between its two steps, where it does not go to the ring at once: at a driver's port the monitor sees it
 * first, and the peer could change what stands in the ring. */
static uint8_t draft[MAIL_PAYLOAD];

static inline int is_sendable(const struct mail_port *port, uint32_t message)
{
    return (port->sendable >> message & 1) != 0;
}

static inline int has_room(struct mail_port *port)
{
    return port->link.out.at != port->link.out.end || ring_find_room(&port->link.out);
}

/* A message to the domain itself. */
static SELDOM void emit_here(const struct mail_port *port, uint32_t message, const void *body, uint64_t size)
{
    static const uint8_t zeros[MAIL_PAYLOAD];

    if (domain_route(port, message) == ROUTE_INTERRUPT) {
        interrupt_emit(port->local | message);
    } else {
        timer_emit(message, size < sizeof(uint64_t) ? zeros : body);
    }
}

/* Requires: the message is sendable, and there is room. */
static void put(struct mail_port *port, uint32_t message, uint64_t cookie, const uint8_t *body, uint64_t size)
{
    uint8_t *payload = ring_put(&port->link.out, message, cookie);

    if (size != 0) {
        memcpy(payload, body, size < MAIL_PAYLOAD ? size : MAIL_PAYLOAD);
    }
    domain_unpublished |= port->bit;
}

uint32_t domain_unsent(struct mail_port *port, uint32_t message, uint64_t cookie, const void *body, uint64_t size)
{
    uint64_t bit = message < 64 ? 1ul << message : 0;

    if (port->is_driver) {
        enum monitor_verdict verdict = MONITOR_UNKNOWN;
        if ((port->says & bit) != 0) {
            verdict = port->protocol->check[message](&port->monitor, cookie, body, size);
        }
        if (verdict != MONITOR_OK) {
            monitored_bad_emit(port, port->local | message, verdict);
        }
    }
    if ((port->sendable & bit) == 0) {
        if ((port->own & bit) != 0) {
            emit_here(port, message, body, size);
        }
    } else if (!has_room(port)) {
        domain_cut(port); /* the peer leaves more unread than its protocol allows */
    } else {
        put(port, message, cookie, body, size);
    }
    return 0;
}

void domain_send(uint32_t mailbox, uint64_t cookie, const void *body, uint64_t size)
{
    struct mail_port *port = &domain_ports[mailbox >> 8];
    uint32_t message = mailbox & 0xffu;

    if (message < 64 && is_sendable(port, message)) {
        domain_unpublished |= port->send[message](port, cookie, body, size);
    } else {
        domain_unsent(port, message, cookie, body, size);
    }
}

void *domain_emit_begin(uint32_t mailbox, uint64_t cookie)
{
    struct mail_port *port = &domain_ports[mailbox >> 8];

    (void)cookie;
    if (port->is_driver || !is_sendable(port, mailbox & 63u) || !has_room(port)) {
        memset(draft, 0, sizeof draft);
        domain.emit_payload = 0;
        return draft;
    }
    domain.emit_payload = port->link.out.at->payload;
    return domain.emit_payload;
}

void domain_emit_end(uint32_t mailbox, uint64_t cookie)
{
    struct mail_port *port = &domain_ports[mailbox >> 8];

    if (domain.emit_payload != 0) {
        ring_put(&port->link.out, mailbox & 63u, cookie);
        domain_unpublished |= port->bit;
        return;
    }
    domain_send(mailbox, cookie, draft, sizeof draft);
}
