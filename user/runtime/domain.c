/* Cooperative domains: AWAIT. EMIT is in domain_emit.c, the opening of ports in domain_port.c, the messages that are not awaited yet
 * in domain_pending.c. */
#include "ashlar/domain.h"

#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "dispatch.h"
#include "domain_internal.h"

#define NAME_BYTES 72u
#define AWAITS_MOST 64u /* without a look at the signals */

struct domain domain;
struct mail_port domain_ports[DOMAIN_PORTS];
struct mail_port *domain_known = DOMAIN_NONE_KNOWN;
static struct mail_port *alone; /* as domain_known, and nothing else is to be looked at before this process waits */
uint32_t domain_unpublished;
const struct mail *domain_current;

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
    domain.timer_fires = DEADLINE_NEVER;
    domain.knock_at = DEADLINE_NEVER;
    dispatch_start();
    interrupt_start();
}

/* ---- receiving ---- */

void domain_cut(struct mail_port *port)
{
    link_cut(&port->link);
    domain_lose(port);
}

/* Looks at one ring: 1 if its next message is one of the set. Keeps what comes before it. */
static OFTEN int has_mail_of(struct mail_port *port, const struct mail_set *set, uint32_t *message)
{
    struct ring_consumer *in = &port->link.in;

    if (port->link.state != LINK_UP) {
        return 0;
    }
    while (ring_has_mail(in)) {
        uint64_t next = ring_message(in);
        if (next >= 64 || (port->incoming >> next & 1) == 0) {
            domain_cut(port); /* it cannot be one */
            return 0;
        }
        *message = (uint32_t)next;
        if ((set->mask[port->number] >> next & 1) != 0) {
            return 1;
        }
        if (!pending_keep(port, *message)) {
            domain_cut(port); /* more unread messages than its protocol allows */
            return 0;
        }
    }
    if (in->is_broken) {
        domain_cut(port);
    }
    return 0;
}

/* Looks at all rings; each time at another one first, so that none starves. The port of which a message is to be taken, or null. */
static OFTEN struct mail_port *port_with_mail_of(const struct mail_set *set, uint32_t *message)
{
    uint32_t at = domain.turn;

    for (uint32_t left = domain.num_linked; left != 0; left--) {
        if (has_mail_of(domain.linked[at], set, message)) {
            return domain.linked[at];
        }
        at = at + 1 == domain.num_linked ? 0 : at + 1;
    }
    return 0;
}

/* ---- waiting ---- */

/* The client has signalled. If it has sent nothing since the signal before, it may be another one that was started anew; to ask is a
 * system call, so messages that were taken explain the signal. */
static OFTEN void took_signal(struct mail_port *port)
{
    uint32_t taken = ring_count(port->link.in.first);
    uint32_t has_sent = taken != port->taken_at_signal;

    port->taken_at_signal = taken;
    if (port->link.state != LINK_UP || (!has_sent && !ring_has_mail(&port->link.in))) {
        farewell_look(port);
    }
}

static OFTEN void took_bits(uint64_t bits)
{
    domain.events |= bits;
    if ((bits & interrupt_bit) != 0) {
        interrupt_has_fired();
    }
    for (uint32_t i = 0; i < domain.num_linked; i++) {
        struct mail_port *port = domain.linked[i];
        if (!link_is_quiet(&port->link)) {
            domain_advance_link(port);
        }
        if ((bits & port->client_bit) != 0) {
            took_signal(port);
        }
    }
}

/* Takes the event of the set with the lowest number. */
static OFTEN uint32_t take_event(const struct mail_set *set)
{
    uint64_t events = domain.events & set->mask[DOMAIN_EVENTS];

    if (events == 0) {
        return DOMAIN_TIMEOUT;
    }
    uint32_t number = (uint32_t)__builtin_ctzl(events);
    domain.events &= ~(1ul << number);
    return AT(DOMAIN_EVENTS, number);
}

/* Publishes what was put in; signals the peers that wait for it, but for one, which the wait itself can signal: returns its slot, or
 * NO_SLOT. */
static OFTEN uint32_t flush_but_one(void)
{
    uint32_t last = NO_SLOT;

    for (uint32_t ports = domain_unpublished; ports != 0; ports &= ports - 1) {
        struct link *link = &domain_ports[__builtin_ctz(ports)].link;
        if (link->state != LINK_UP || !ring_publish(&link->out) || !ring_wake(&link->out)) {
            continue;
        }
        if (last != NO_SLOT) {
            sys_signal(last);
        }
        last = link->signal;
    }
    domain_unpublished = 0;
    return last;
}

static OFTEN void flush(void)
{
    uint32_t last = flush_but_one();

    if (last != NO_SLOT) {
        sys_signal(last);
    }
}

void domain_flush(void)
{
    flush();
}

void domain_end(void)
{
    monitored_return();
    flush();
}

/* Announces the wait on all rings and looks once more. Returns 0 if a message has come meanwhile. */
static OFTEN int arm(void)
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
        if (link->state == LINK_UP && ring_has_mail(&link->in)) {
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

    until = domain.knock_at < until ? domain.knock_at : until;

    if (arm()) {
        uint32_t last = flush_but_one();
        uint32_t status =
            last == NO_SLOT ? sys_wait(domain.wake, until, &bits) : sys_signal_wait(last, domain.wake, until, &bits);
        domain.awaits = 0;
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
        if (domain.knock_at <= now) {
            domain_knock(now);
        }
        return deadline > now;
    }
    return 1;
}

/* With a message there at every time a process never waits, and would not see that another client signals, which is to be linked or has
 * begun anew, nor an event: one client that floods would keep all others out. */
static SELDOM void look_for_signals(void)
{
    uint64_t bits = 0;

    domain.awaits = 0;
    sys_poll(domain.wake, &bits);
    took_bits(bits);
}

static OFTEN void farewell(void)
{
    if (domain.num_leaving != 0) {
        farewell_continue();
    }
}

/* Until all that is known of this port's ring is taken, AWAIT need not look anywhere else; but for interrupts, which are asked for once
 * in so many AWAITs. */
static OFTEN void note_known(struct mail_port *port)
{
    struct ring_consumer *in = &port->link.in;
    uint32_t must_look_around = domain.has_clients | domain.waiting | domain.num_leaving |
                                (domain.interrupt_is_open & interrupt_is_first) | MUST_MONITOR_AWAITS;

    domain.ahead = 1;
    domain_known = DOMAIN_NONE_KNOWN;
    if (must_look_around != 0) {
        return;
    }
    if (domain.interrupt_is_open) {
        in->end = in->at + ring_least((uint32_t)(in->end - in->at), interrupt_awaits_left());
    }
    domain.ahead = (uint32_t)(in->end - in->at);
    domain_known = port;
    alone = domain.num_linked == 1 && !domain.interrupt_is_open ? port : 0;
}

/* Takes a message that was pending. */
static SELDOM uint32_t take_pending(const struct mail_set *set, uint64_t deadline)
{
    struct mail *mail = (struct mail *)domain_current;
    uint32_t mailbox = pending_take(set, mail);

    if (mailbox == DOMAIN_TIMEOUT) {
        return mailbox;
    }
    struct mail_port *port = &domain_ports[mailbox >> 8];
    uint32_t message = mailbox & 0xffu;
    if (!port->is_driver) {
        if (message == MAIL_LINK_LOST) {
            domain_advance_link(port);
        }
        return mailbox;
    }
    enum monitor_verdict verdict =
        port->protocol->check[message](&port->monitor, mail->cookie, mail->payload, MAIL_PAYLOAD);
    return verdict == MONITOR_OK ? mailbox : port->refused(set, deadline, port, message, verdict);
}

/* Takes a message of the set that was pending, from a ring, or an event. */
static OFTEN uint32_t take(const struct mail_set *set, uint64_t deadline)
{
    uint32_t message = 0;
    uint32_t mailbox = domain.waiting != 0 ? take_pending(set, deadline) : DOMAIN_TIMEOUT;

    if (mailbox != DOMAIN_TIMEOUT) {
        return mailbox;
    }
    struct mail_port *port = port_with_mail_of(set, &message);
    if (port != 0) {
        note_known(port);
        return port->take[message](set, deadline, port, (struct mail *)domain_current, message);
    }
    /* A ring that had what cannot be has cut its link. */
    mailbox = domain.waiting != 0 ? take_pending(set, deadline) : DOMAIN_TIMEOUT;
    if (mailbox != DOMAIN_TIMEOUT) {
        return mailbox;
    }
    return domain.events != 0 ? take_event(set) : DOMAIN_TIMEOUT;
}

uint32_t domain_poll(const struct mail_set *set, uint64_t bits)
{
    took_bits(bits);
    if (domain.knock_at != DEADLINE_NEVER && domain.knock_at <= sys_clock()) {
        domain_knock(sys_clock());
    }
    do {
        farewell();
        uint32_t mailbox = take(set, DEADLINE_NEVER);
        if (mailbox != DOMAIN_TIMEOUT) {
            return mailbox;
        }
    } while (!arm());
    return DOMAIN_TIMEOUT;
}

uint64_t domain_poll_at(void)
{
    return domain.knock_at;
}

/* What is due once in so many AWAITs: another peer's turn, signals, interrupts. */
static OFTEN void look_around(void)
{
    uint32_t awaits = domain.ahead;

    domain.ahead = 1;
    domain_known = DOMAIN_NONE_KNOWN;
    if (domain.num_linked > 1) {
        domain.turn = domain.turn + 1 < domain.num_linked ? domain.turn + 1 : 0;
        domain.awaits += awaits;
        if (domain.awaits >= AWAITS_MOST) {
            look_for_signals();
        }
    }
    if (domain.interrupt_is_open && interrupt_must_poll(awaits)) {
        uint64_t bits = 0;
        sys_poll(domain.wake, &bits);
        took_bits(bits);
    }
}

static SELDOM uint32_t await_anything(const struct mail_set *set, uint64_t deadline)
{
    if (deadline == DEADLINE_NEVER) {
        monitored_await(set); /* a wait with a deadline ends */
    }
    look_around();
    for (;;) {
        farewell();
        uint32_t mailbox = take(set, deadline);
        if (mailbox != DOMAIN_TIMEOUT) {
            flush();
            return mailbox;
        }
        if (dispatch_threads > 1 && dispatch(set)) {
            continue; /* other threads have run meanwhile */
        }
        if (!wait_for_mail(deadline)) {
            return DOMAIN_TIMEOUT;
        }
    }
}

uint32_t domain_refused(const struct mail_set *set, uint64_t deadline, struct mail_port *port, uint32_t message,
                        enum monitor_verdict verdict)
{
    monitored_bad_receive(port, port->local | message, verdict);
    domain_cut(port);
    return await_anything(set, deadline);
}

/* Waits for a signal as wait_for_mail() does, where there is one peer alone, and neither a timer nor a knock is due. */
static OFTEN void wait_for_peer(struct link *link, uint64_t deadline)
{
    ring_arm(&link->in);
    if (!ring_find_mail(&link->in)) {
        uint64_t bits = 0;
        int must_wake = domain_unpublished != 0 && ring_publish(&link->out) && ring_wake(&link->out);
        domain_unpublished = 0;
        uint32_t status = must_wake ? sys_signal_wait(link->signal, domain.wake, deadline, &bits)
                                    : sys_wait(domain.wake, deadline, &bits);
        if (status == STATUS_OK) {
            took_bits(bits);
        }
    }
    if (link->state == LINK_UP) {
        ring_disarm(&link->in);
    }
}

/* AWAIT where there is one peer alone, of whose ring nothing is known. */
static SELDOM uint32_t await_alone(const struct mail_set *set, uint64_t deadline, struct mail_port *port)
{
    while (domain_known == port && port == alone && !port->link.in.is_broken && dispatch_threads == 1 &&
           (domain.timer_fires & domain.knock_at) == DEADLINE_NEVER &&
           (domain.events & set->mask[DOMAIN_EVENTS]) == 0) {
        wait_for_peer(&port->link, deadline);
        if (domain_known == port && ring_has_mail(&port->link.in)) {
            return domain_await(set, deadline);
        }
        if (deadline != DEADLINE_NEVER && deadline <= sys_clock()) {
            return DOMAIN_TIMEOUT;
        }
    }
    return await_anything(set, deadline);
}

uint32_t domain_await(const struct mail_set *set, uint64_t deadline)
{
    struct mail_port *port = domain_known;

    if (port->link.in.at == port->link.in.end) {
        if (port != alone) {
            return await_anything(set, deadline);
        }
        if (!ring_find_mail(&port->link.in)) {
            return await_alone(set, deadline, port);
        }
    }
    uint64_t message = ring_message(&port->link.in);
    if (message >= 64 || (set->mask[port->number] & port->incoming & 1ul << message) == 0) {
        return await_anything(set, deadline);
    }
    if (domain_unpublished != 0) {
        if (domain_unpublished != port->bit || ring_publish(&port->link.out)) {
            return await_anything(set, deadline);
        }
        domain_unpublished = 0;
    }
    return port->take[message](set, deadline, port, (struct mail *)domain_current, message);
}
