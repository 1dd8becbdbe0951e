/* Cooperative domains: EMIT, AWAIT, pending messages. */
#include "ashlar/domain.h"

#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"
#include "dispatch.h"
#include "domain_internal.h"
#include "monitor_step.h"
#include "pci_protocol.h"
#include "timer_protocol.h"

/* Messages taken from their rings that nobody has awaited yet. A peer that fills it up with what nobody awaits sends more
 * than its protocol allows. */
#define NUM_PENDING 1152u
#define NAME_BYTES 72u

/* Kept out of the way of messages that flow. */
#define SELDOM __attribute__((noinline))

static SELDOM void advance_link(struct port *port);

struct domain domain;
const struct mail *domain_current;

static struct pending pool[NUM_PENDING];
static struct mail dropped;          /* where the payload of a message goes that nobody gets */

void domain_start(void)
{
    char name[NAME_BYTES];
    char key[NAME_BYTES + 16];

    env_name(name, sizeof name);
    format(key, sizeof key, "notification.%s", name);
    domain.wake = env_slot(key);
    if (domain.wake == NO_SLOT) {
        panic("the system has no notification %s for this process to wait for\n", name);
    }
    for (uint32_t i = 0; i < NUM_PENDING; i++) {
        pool[i].next = domain.unused;
        domain.unused = &pool[i];
    }
    domain.timer_fires = DEADLINE_NEVER;
    dispatch_start();
    interrupt_start();
}

/* ---- ports ---- */

uint32_t domain_route(const struct port *port, uint32_t message)
{
    uint32_t number = port->protocol->first_mailbox >> 8;

    if (number == TIMER_NUMBER) {
        return ROUTE_TIMER;
    }
    if (number == PCI_NUMBER) {
        switch (port->protocol->first_mailbox | message) {
        case PCI_ACCESS:
            return ROUTE_NOWHERE;
        case PCI_IRQ_ON:
        case PCI_IRQ_OFF:
        case PCI_IRQ:
        case PCI_IRQ_DONE:
            return ROUTE_INTERRUPT;
        default:
            return ROUTE_LINK;
        }
    }
    return ROUTE_LINK;
}

static struct port *open_port(uint32_t number, const struct protocol *protocol, uint32_t is_driver)
{
    struct port *port = &domain.port[number];

    if (number == DOMAIN_EVENTS || number >= DOMAIN_PORTS || port->protocol != 0 || protocol->num_message > MAIL_LINK_LOST) {
        panic("port %u cannot be opened for protocol %s\n", number, protocol->name);
    }
    port->protocol = protocol;
    port->number = number;
    port->first = protocol->first_mailbox;
    port->is_driver = is_driver;
    for (uint32_t i = 0; i < protocol->num_message; i++) {
        if (domain_route(port, i) != ROUTE_LINK) {
            continue;
        }
        port->is_linked = 1;
        if ((protocol->messages[i].is_incoming != 0) == (is_driver != 0)) {
            port->incoming |= 1ul << i;
        } else {
            port->outgoing |= 1ul << i;
        }
    }
    port->link.is_driver = is_driver;
    port->link.protocol = protocol->first_mailbox >> 8;
    port->link.address = LINK_AREA + number * LINK_STEP;
    if (port->is_linked) {
        domain.linked[domain.num_linked] = port;
        domain.num_linked++;
    }
    if (is_driver) {
        monitored_start(port);
    }
    return port;
}

static uint32_t find_slot(const char *kind, const char *name, const char *suffix)
{
    char key[2 * NAME_BYTES];
    format(key, sizeof key, "%s.%s%s%s", kind, name, suffix[0] == 0 ? "" : "-", suffix);
    uint32_t slot = env_slot(key);

    if (slot == NO_SLOT) {
        panic("the system description gives this process no %s\n", key);
    }
    return slot;
}

void domain_serve(const struct protocol *protocol)
{
    char self[NAME_BYTES];
    char client[NAME_BYTES];
    struct port *port = open_port(protocol->first_mailbox >> 8, protocol, 1);

    if (!port->is_linked) {
        return;
    }
    env_name(self, sizeof self);
    if (env_arg(protocol->name, client, sizeof client) < 0) {
        panic("argument %s, the name of the client of that protocol, is missing\n", protocol->name);
    }
    port->link.share = find_slot("share", self, protocol->name);
    port->link.signal = find_slot("notification", client, "");
    port->link.state = LINK_JOINING;
    /* What a client has offered to the driver's predecessor; one that waits with a page half accepted looks again. */
    advance_link(port);
    sys_signal(port->link.signal);
}

void domain_connect(uint32_t number, const char *driver, const struct protocol *protocol, uint32_t capacity,
                    uint32_t data_pages)
{
    struct port *port = open_port(number, protocol, 0);

    port->link.share = find_slot("share", driver, protocol->name);
    port->link.signal = find_slot("notification", driver, "");
    port->link.capacity = capacity;
    port->link.pages = link_ring_pages(capacity) + data_pages;
    uint32_t status = link_offer(&port->link);
    if (status != STATUS_OK) {
        panic("the memory of the link to %s: error %u\n", driver, status);
    }
}

void *domain_data(uint32_t number, uint64_t *bytes)
{
    const struct link *link = &domain.port[number].link;

    if (number >= DOMAIN_PORTS || link->state != LINK_UP) {
        return 0;
    }
    uint64_t first = link_ring_pages(link->capacity);
    *bytes = (link->pages - first) * PAGE_SIZE;
    return (void *)(link->address + first * PAGE_SIZE);
}

/* ---- pending messages ---- */

void domain_append(struct pending *pending, uint32_t mailbox, uint32_t is_first)
{
    pending->mail.mailbox = mailbox;
    if (is_first || domain.first == 0) {
        pending->next = domain.first;
        domain.first = pending;
        if (pending->next == 0) {
            domain.last = pending;
        }
    } else {
        pending->next = 0;
        domain.last->next = pending;
        domain.last = pending;
    }
}

static void unlink_after(struct pending *before, struct pending *pending)
{
    if (before == 0) {
        domain.first = pending->next;
    } else {
        before->next = pending->next;
    }
    if (domain.last == pending) {
        domain.last = before;
    }
}

void domain_retract(struct pending *pending)
{
    struct pending *before = 0;

    for (struct pending *p = domain.first; p != 0; p = p->next) {
        if (p == pending) {
            unlink_after(before, p);
            return;
        }
        before = p;
    }
}

static inline int is_in(const struct mail_set *set, uint32_t mailbox)
{
    return (set->mask[mailbox >> 8] >> (mailbox & 63u) & 1u) != 0;
}

/* Takes the oldest pending message of the set. */
static int take_pending(const struct mail_set *set, struct mail *mail)
{
    struct pending *before = 0;

    for (struct pending *p = domain.first; p != 0; p = p->next) {
        if (is_in(set, p->mail.mailbox)) {
            *mail = p->mail;
            unlink_after(before, p);
            if (p >= pool && p < pool + NUM_PENDING) {
                p->next = domain.unused;
                domain.unused = p;
            }
            return 1;
        }
        before = p;
    }
    return 0;
}

int domain_has_pending(const struct mail_set *set)
{
    for (struct pending *p = domain.first; p != 0; p = p->next) {
        if (is_in(set, p->mail.mailbox)) {
            return 1;
        }
    }
    return 0;
}

/* Messages of a link that is no more are forgotten. */
static void forget(uint32_t port)
{
    struct mail_set all = {{0}};
    struct mail mail;

    all.mask[port] = ~0ul;
    while (take_pending(&all, &mail)) {
    }
}

/* ---- receiving ---- */

/* The peer has broken the rules. */
static void cut(struct port *port)
{
    link_cut(&port->link);
    port->sendable = 0;
}

/* Takes a message off a port's ring and gives it its local mailbox; cuts the peer off if it cannot be one.
 * Requires: the ring is not empty. */
static inline int take_from(struct port *port, struct mail *mail)
{
    ring_take(&port->link.in, mail);
    uint32_t message = mail->mailbox - port->first;

    if (port->link.in.is_broken || message >= 64 || (port->incoming >> message & 1) == 0) {
        cut(port);
        return 0;
    }
    mail->mailbox = AT(port->number, message);
    return 1;
}

/* Keeps a message that nobody awaits now. */
static int keep(struct port *port, const struct mail *mail)
{
    struct pending *pending = domain.unused;

    if (pending == 0) {
        cut(port); /* more unread messages than its protocol allows */
        return 0;
    }
    domain.unused = pending->next;
    pending->mail = *mail;
    domain_append(pending, mail->mailbox, 0);
    return 1;
}

/* Takes the first message of the set from one ring, and keeps what comes before it. */
static inline int take_from_ring(struct port *port, const struct mail_set *set, struct mail *mail)
{
    if (port->link.state != LINK_UP) {
        return 0;
    }
    while (!ring_is_empty(&port->link.in)) {
        if (!take_from(port, mail)) {
            return 0;
        }
        if (is_in(set, mail->mailbox)) {
            return 1;
        }
        if (!keep(port, mail)) {
            return 0;
        }
    }
    if (port->link.in.is_broken) {
        cut(port);
    }
    return 0;
}

/* Looks at all rings; each time at another one first, so that none starves. */
static int take_from_rings(const struct mail_set *set, struct mail *mail)
{
    uint32_t at = domain.turn;

    for (uint32_t left = domain.num_linked; left != 0; left--) {
        if (take_from_ring(domain.linked[at], set, mail)) {
            return 1;
        }
        at = at + 1 == domain.num_linked ? 0 : at + 1;
    }
    return 0;
}

/* ---- waiting ---- */

static struct pending link_news[DOMAIN_PORTS];

/* A link that came up, or is no more, or is on its way. */
static void advance_link(struct port *port)
{
    if (!link_advance(&port->link)) {
        return;
    }
    uint32_t is_up = port->link.state == LINK_UP;
    port->sendable = is_up ? port->outgoing : 0;
    domain_retract(&link_news[port->number]);
    if (!is_up) {
        forget(port->number);
    }
    if (!port->is_driver) {
        domain_append(&link_news[port->number], AT(port->number, is_up ? MAIL_LINK_UP : MAIL_LINK_LOST), 0);
    } else if (is_up) {
        dma_link_up(port->number);
    }
}

static inline void took_bits(uint64_t bits)
{
    domain.events |= bits;
    if ((bits & interrupt_bit) != 0) {
        interrupt_has_fired();
    }
    for (uint32_t i = 0; i < domain.num_linked; i++) {
        if (!link_is_quiet(&domain.linked[i]->link)) {
            advance_link(domain.linked[i]);
        }
    }
}

/* Takes the event of the set with the lowest number. */
static int take_event(const struct mail_set *set, struct mail *mail)
{
    uint64_t events = domain.events & set->mask[DOMAIN_EVENTS];

    if (events == 0) {
        return 0;
    }
    uint32_t number = (uint32_t)__builtin_ctzl(events);
    domain.events &= ~(1ul << number);
    mail->mailbox = AT(DOMAIN_EVENTS, number);
    return 1;
}

/* The peers that must be told of messages are signalled, but for one, which the wait itself can signal: its slot, or
 * NO_SLOT. */
static uint32_t flush_but_one(void)
{
    uint32_t last = NO_SLOT;

    domain.must_flush = 0;
    for (uint32_t i = 0; i < domain.num_linked; i++) {
        struct link *link = &domain.linked[i]->link;
        if (link->out.must_look && ring_must_signal(&link->out)) {
            if (last != NO_SLOT) {
                sys_signal(last);
            }
            last = link->signal;
        }
    }
    return last;
}

void domain_flush(void)
{
    if (domain.must_flush) {
        uint32_t last = flush_but_one();
        if (last != NO_SLOT) {
            sys_signal(last);
        }
    }
}

/* Announces the wait on all rings and looks once more. Returns 0 if a message has come meanwhile. */
static int arm(void)
{
    int is_empty = 1;

    for (uint32_t i = 0; i < domain.num_linked; i++) {
        struct link *link = &domain.linked[i]->link;
        if (link->state == LINK_UP) {
            ring_arm(&link->in);
        }
    }
    for (uint32_t i = 0; i < domain.num_linked; i++) {
        struct link *link = &domain.linked[i]->link;
        if (link->state == LINK_UP && !ring_is_empty(&link->in)) {
            is_empty = 0;
        }
    }
    return is_empty;
}

static void disarm(void)
{
    for (uint32_t i = 0; i < domain.num_linked; i++) {
        struct link *link = &domain.linked[i]->link;
        if (link->state == LINK_UP) {
            ring_disarm(&link->in);
        }
    }
}

/* Waits for a signal unless a message came meanwhile. Returns 0 when the deadline passed. */
static int wait_for_mail(uint64_t deadline)
{
    uint64_t bits = 0;
    uint64_t until = domain.timer_fires < deadline ? domain.timer_fires : deadline;

    if (arm()) {
        uint32_t last = domain.must_flush ? flush_but_one() : NO_SLOT;
        uint32_t status = last == NO_SLOT ? sys_wait(domain.wake, until, &bits)
                                          : sys_signal_wait(last, domain.wake, until, &bits);
        if (status == STATUS_OK) {
            took_bits(bits);
        }
    }
    disarm();
    if (until != DEADLINE_NEVER) {
        uint64_t now = sys_clock();
        if (domain.timer_fires <= now) {
            timer_has_fired();
        }
        return deadline > now;
    }
    return 1;
}

uint32_t domain_await(const struct mail_set *set, uint64_t deadline)
{
    struct mail *mail = domain.mail;

    monitored_await(set);
    if (domain.num_linked > 1) {
        domain.turn = domain.turn + 1 < domain.num_linked ? domain.turn + 1 : 0;
    }
    if (domain.interrupt_is_open && interrupt_must_poll()) {
        uint64_t bits = 0;
        sys_poll(domain.wake, &bits);
        took_bits(bits);
    }
    for (;;) {
        if ((domain.first != 0 && take_pending(set, mail)) || take_from_rings(set, mail) ||
            (domain.events != 0 && take_event(set, mail))) {
            struct port *port = &domain.port[mail->mailbox >> 8];
            if (port->is_driver) {
                enum monitor_verdict verdict =
                    monitor_step(&port->monitor, mail->mailbox, mail->cookie, mail->payload, 1);
                if (verdict != MONITOR_OK) {
                    monitored_bad_receive(port, mail->mailbox, verdict);
                    cut(port);
                    forget(port->number);
                    continue;
                }
            }
            domain_flush();
            domain_current = mail;
            return mail->mailbox;
        }
        if (dispatch_threads > 1 && dispatch(set)) {
            continue; /* other threads have run meanwhile */
        }
        if (!wait_for_mail(deadline)) {
            return DOMAIN_TIMEOUT;
        }
    }
}

/* ---- sending ---- */

/* A message that goes nowhere, or to the domain itself. */
static SELDOM void *emit_elsewhere(struct port *port, uint32_t mailbox)
{
    if (port->sendable != 0 && (port->outgoing >> (mailbox & 63u) & 1) != 0) {
        cut(port); /* the ring is full: the peer leaves more unread than its protocol allows */
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

/* What goes to the domain itself. */
static void emit_here(const struct port *port, uint32_t mailbox)
{
    uint32_t message = mailbox & 0xffu;
    uint32_t route = domain_route(port, message);

    if (route == ROUTE_INTERRUPT) {
        interrupt_emit(mailbox);
    } else if (route == ROUTE_TIMER) {
        timer_emit(message, dropped.payload);
    }
}

void domain_emit_end(uint32_t mailbox, uint64_t cookie)
{
    struct port *port = domain.emit_port;

    if (port->is_driver) {
        const struct mail *slot = domain.emit_slot != 0 ? domain.emit_slot : &dropped;
        enum monitor_verdict verdict =
            monitor_step(&port->monitor, mailbox, cookie, slot->payload, 0);
        if (verdict != MONITOR_OK) {
            monitored_bad_emit(port, mailbox, verdict);
        }
    }
    if (domain.emit_slot != 0) {
        ring_put(&port->link.out);
        domain.must_flush = 1;
    } else {
        emit_here(port, mailbox);
    }
}
