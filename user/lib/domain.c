/* Cooperative domains: EMIT, AWAIT, pending messages. */
#include "ashlar/domain.h"

#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"
#include "dispatch.h"
#include "domain_internal.h"
#include "pci_protocol.h"
#include "timer_protocol.h"

/* Messages taken from their rings that nobody has awaited yet. A peer that fills it up with what nobody awaits sends more
 * than its protocol allows. */
#define NUM_PENDING 1152u
#define NAME_BYTES 72u

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
    /* A client that waits with a page half accepted looks again. */
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

/* Takes a message off a port's ring and gives it its local mailbox; cuts the peer off if it cannot be one. */
static int take_from(struct port *port, struct mail *mail)
{
    ring_take(&port->link.in, mail);
    uint32_t message = mail->mailbox - port->protocol->first_mailbox;

    if (port->link.in.is_broken || message >= port->protocol->num_message || (port->incoming >> message & 1) == 0) {
        link_cut(&port->link);
        return 0;
    }
    mail->mailbox = AT(port->number, message);
    return 1;
}

/* Takes the first message of the set from one ring, and keeps what comes before it. */
static int take_from_ring(struct port *port, const struct mail_set *set, struct mail *mail)
{
    while (port->link.state == LINK_UP && !ring_is_empty(&port->link.in)) {
        if (!take_from(port, mail)) {
            return 0;
        }
        if (is_in(set, mail->mailbox)) {
            return 1;
        }
        struct pending *pending = domain.unused;
        if (pending == 0) {
            link_cut(&port->link); /* more unread messages than its protocol allows */
            return 0;
        }
        domain.unused = pending->next;
        pending->mail = *mail;
        domain_append(pending, mail->mailbox, 0);
    }
    if (port->link.state == LINK_UP && port->link.in.is_broken) {
        link_cut(&port->link);
    }
    return 0;
}

/* Looks at all rings; each time at another one first, so that none starves. */
static int take_from_rings(const struct mail_set *set, struct mail *mail)
{
    uint32_t begin = domain.turn;

    for (uint32_t i = 0; i < domain.num_linked; i++) {
        uint32_t at = begin + i;
        while (at >= domain.num_linked) {
            at -= domain.num_linked;
        }
        if (take_from_ring(domain.linked[at], set, mail)) {
            return 1;
        }
    }
    return 0;
}

/* ---- waiting ---- */

static struct pending link_news[DOMAIN_PORTS];

static void advance_links(void)
{
    for (uint32_t i = 0; i < domain.num_linked; i++) {
        struct port *port = domain.linked[i];
        uint32_t number = port->number;
        if (link_advance(&port->link)) {
            uint32_t is_up = port->link.state == LINK_UP;
            domain_retract(&link_news[number]);
            if (!is_up) {
                forget(number);
            }
            if (!port->is_driver) {
                domain_append(&link_news[number], AT(number, is_up ? MAIL_LINK_UP : MAIL_LINK_LOST), 0);
            } else if (is_up) {
                dma_link_up(number);
            }
        }
    }
}

static void took_bits(uint64_t bits)
{
    domain.events |= bits;
    interrupt_bits(bits);
    advance_links();
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

/* Waits for a signal unless a message came meanwhile. Returns 0 when the deadline passed. */
static int wait_for_mail(uint64_t deadline)
{
    uint64_t bits = 0;
    uint64_t timer = timer_deadline();
    uint32_t status = STATUS_OK;
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
    if (is_empty) {
        status = sys_wait(domain.wake, timer < deadline ? timer : deadline, &bits);
    }
    for (uint32_t i = 0; i < domain.num_linked; i++) {
        struct link *link = &domain.linked[i]->link;
        if (link->state == LINK_UP) {
            ring_disarm(&link->in);
        }
    }
    if (status == STATUS_OK) {
        took_bits(bits);
    }
    timer_check();
    return status == STATUS_OK || deadline == ~0ul || sys_clock() < deadline;
}

uint32_t domain_await(const struct mail_set *set, uint64_t deadline)
{
    monitored_await(set);
    domain_flush();
    domain.turn = domain.turn + 1 < domain.num_linked ? domain.turn + 1 : 0;
    if (interrupt_must_poll()) {
        uint64_t bits = 0;
        sys_poll(domain.wake, &bits);
        took_bits(bits);
    }
    struct mail *mail = dispatch_mail();
    for (;;) {
        if ((domain.first != 0 && take_pending(set, mail)) || take_from_rings(set, mail) || take_event(set, mail)) {
            domain_current = mail;
            monitored_receive(&domain.port[mail->mailbox >> 8], mail);
            return mail->mailbox;
        }
        if (dispatch(set)) {
            continue; /* other threads have run meanwhile */
        }
        if (!wait_for_mail(deadline)) {
            return DOMAIN_TIMEOUT;
        }
    }
}

/* ---- sending ---- */

void *domain_emit_begin(uint32_t mailbox, uint64_t cookie)
{
    uint32_t number = mailbox >> 8;
    uint32_t message = mailbox & 0xffu;
    struct port *port = &domain.port[number];
    struct mail *slot = &dropped;

    domain.emit_port = number;
    domain.emit_mailbox = mailbox;
    domain.emit_cookie = cookie;
    domain.emit_route = ROUTE_LINK;
    if ((port->outgoing >> message & 1) == 0) {
        domain.emit_route = domain_route(port, message);
    } else if (port->link.state == LINK_UP) {
        slot = ring_free_slot(&port->link.out);
        if (slot == 0) {
            link_cut(&port->link);
            slot = &dropped;
        } else {
            slot->mailbox = port->protocol->first_mailbox + message;
            slot->sequence = (uint32_t)port->link.out.tail;
            slot->cookie = cookie;
        }
    }
    return slot->payload;
}

void domain_emit_end(void)
{
    struct port *port = &domain.port[domain.emit_port];
    struct link *link = &port->link;
    uint32_t is_sent = domain.emit_route == ROUTE_LINK && link->state == LINK_UP;
    const struct mail *slot = is_sent ? &link->out.slot[link->out.tail & (link->capacity - 1)] : &dropped;

    monitored_emit(port, domain.emit_mailbox, domain.emit_cookie, slot->payload);
    if (is_sent) {
        ring_put(&link->out);
    } else if (domain.emit_route == ROUTE_INTERRUPT) {
        interrupt_emit(domain.emit_mailbox);
    } else if (domain.emit_route == ROUTE_TIMER) {
        timer_emit(domain.emit_mailbox & 0xffu, slot->payload);
    }
}

void domain_flush(void)
{
    for (uint32_t i = 0; i < domain.num_linked; i++) {
        struct link *link = &domain.linked[i]->link;
        if (link->state == LINK_UP && ring_must_signal(&link->out)) {
            sys_signal(link->signal);
        }
    }
}
