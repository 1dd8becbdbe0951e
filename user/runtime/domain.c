/* Cooperative domains: AWAIT. EMIT is in domain_emit.c, the opening of ports in domain_port.c, the list of messages that are
 * not awaited yet in domain_pending.c. */
#include "ashlar/domain.h"

#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "dispatch.h"
#include "domain_internal.h"
#include "monitor_step.h"

#define NAME_BYTES 72u
#define KNOCK_MOST 1000000000ul /* ns */
#define AWAITS_MOST 64u         /* without a look at the signals */

struct domain domain;
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

void domain_cut(struct port *port)
{
    link_cut(&port->link);
    port->sendable = 0;
    pending_forget(port->number);
}

/* Takes a message off a port's ring and gives it its local mailbox; cuts the peer off if it cannot be one.
 * Requires: the ring is not empty. */
static OFTEN int take_from(struct port *port, struct mail *mail)
{
    ring_take(&port->link.in, mail);
    uint32_t message = mail->mailbox - port->first;

    if (port->link.in.is_broken || message >= 64 || (port->incoming >> message & 1) == 0) {
        domain_cut(port);
        return 0;
    }
    mail->mailbox = AT(port->number, message);
    return 1;
}

/* Takes the first message of the set from one ring, and keeps what comes before it. */
static OFTEN int take_from_ring(struct port *port, const struct mail_set *set, struct mail *mail)
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
        if (!pending_keep(port, mail)) {
            domain_cut(port); /* more unread messages than its protocol allows */
            return 0;
        }
    }
    if (port->link.in.is_broken) {
        domain_cut(port);
    }
    return 0;
}

/* Looks at all rings; each time at another one first, so that none starves. */
static OFTEN int take_from_rings(const struct mail_set *set, struct mail *mail)
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

/* The first page of a client's link is not taken yet. */
static int has_to_knock(const struct port *port)
{
    return !port->is_driver && port->link.state == LINK_JOINING && port->link.joined == 0;
}

/* A wait with a deadline costs more: no knock is due when all links are up. */
static void forget_knock(void)
{
    for (uint32_t i = 0; i < domain.num_linked; i++) {
        if (has_to_knock(domain.linked[i])) {
            return;
        }
    }
    domain.knock_at = DEADLINE_NEVER;
}

/* A message says that the link of a client's port came up or was lost; a later one replaces one that is still pending. */
static void tell_link(const struct port *port, uint32_t is_up)
{
    domain_retract(&link_news[port->number]);
    domain_append(&link_news[port->number], AT(port->number, is_up ? MAIL_LINK_UP : MAIL_LINK_LOST), 0);
}

void domain_refuse(uint32_t number)
{
    domain_cut(&domain.port[number]);
    tell_link(&domain.port[number], 0);
}

/* Continues setting up a link; notes one that came up or went down. */
void domain_advance_link(struct port *port)
{
    if (!link_advance(&port->link)) {
        return;
    }
    uint32_t is_up = port->link.state == LINK_UP;
    port->sendable = is_up && !port->is_held ? port->outgoing : 0;
    if (!is_up) {
        pending_forget(port->number);
    }
    if (!port->is_driver) {
        tell_link(port, is_up);
    }
    if (is_up) {
        forget_knock();
        dma_link_up(port->number);
    } else {
        dma_link_down(port->number);
    }
}

/* The client has signalled. If it has sent nothing since the signal before, it may be another one that was started anew; to ask is a
 * system call, so messages that were taken explain the signal. */
static OFTEN void took_signal(struct port *port)
{
    uint32_t has_sent = port->link.in.head != port->head_at_signal;

    port->head_at_signal = port->link.in.head;
    if (port->link.state != LINK_UP || (!has_sent && ring_is_empty(&port->link.in))) {
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
        struct port *port = domain.linked[i];
        if (!link_is_quiet(&port->link)) {
            domain_advance_link(port);
        }
        if ((bits & port->client_bit) != 0) {
            took_signal(port);
        }
    }
}

/* Takes the event of the set with the lowest number. */
static OFTEN int take_event(const struct mail_set *set, struct mail *mail)
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

/* Signals the peers that have new messages, but for one, which the wait itself can signal: returns its slot, or
 * NO_SLOT. */
static SELDOM uint32_t flush_all_but_one(void)
{
    uint32_t last = NO_SLOT;

    domain.has_more_unsignalled = 0;
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

/* The same, where mostly one peer was sent to. Requires: there is one. */
static inline uint32_t flush_but_one(void)
{
    struct link *link = domain.unsignalled;

    domain.unsignalled = 0;
    if (domain.has_more_unsignalled) {
        return flush_all_but_one();
    }
    return ring_must_signal(&link->out) ? link->signal : NO_SLOT;
}

static inline void flush(void)
{
    if (domain.unsignalled != 0) {
        uint32_t last = flush_but_one();
        if (last != NO_SLOT) {
            sys_signal(last);
        }
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

/* A driver that is woken by messages of a client does not see that another client signals at the same moment. So a client signals
 * again, ever more seldom, until its first page is taken. */
static SELDOM void knock(uint64_t now)
{
    domain.knock_at = DEADLINE_NEVER;
    for (uint32_t i = 0; i < domain.num_linked; i++) {
        struct port *port = domain.linked[i];
        if (has_to_knock(port)) {
            sys_signal(port->link.signal);
            domain.knock_at = now + domain.knock_pause;
        }
    }
    domain.knock_pause = domain.knock_pause < KNOCK_MOST ? 2 * domain.knock_pause : KNOCK_MOST;
}

/* Waits for a signal unless a message came meanwhile. Returns 0 when the deadline passed. */
static int wait_for_mail(uint64_t deadline)
{
    uint64_t bits = 0;
    uint64_t until = domain.timer_fires < deadline ? domain.timer_fires : deadline;

    until = domain.knock_at < until ? domain.knock_at : until;

    if (arm()) {
        uint32_t last = domain.unsignalled != 0 ? flush_but_one() : NO_SLOT;
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
            knock(now);
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

/* Is there a message of the set in the list, a ring or an event? Takes it. */
static OFTEN int take(const struct mail_set *set, struct mail *mail)
{
    return (domain.first != 0 && pending_take(set, mail)) || take_from_rings(set, mail) ||
           (domain.events != 0 && take_event(set, mail));
}

static OFTEN void farewell(void)
{
    if (domain.num_leaving != 0) {
        farewell_continue();
    }
}

uint32_t domain_poll(const struct mail_set *set, uint64_t bits)
{
    struct mail *mail = domain.mail;

    took_bits(bits);
    if (domain.knock_at != DEADLINE_NEVER && domain.knock_at <= sys_clock()) {
        knock(sys_clock());
    }
    do {
        farewell();
        if (take(set, mail)) {
            domain_current = mail;
            return mail->mailbox;
        }
    } while (!arm());
    return DOMAIN_TIMEOUT;
}

uint64_t domain_poll_at(void)
{
    return domain.knock_at;
}

uint32_t domain_await(const struct mail_set *set, uint64_t deadline)
{
    struct mail *mail = domain.mail;

    if (deadline == DEADLINE_NEVER) {
        monitored_await(set); /* a wait with a deadline ends */
    }
    if (domain.num_linked > 1) {
        domain.turn = domain.turn + 1 < domain.num_linked ? domain.turn + 1 : 0;
        domain.awaits++;
        if (domain.awaits == AWAITS_MOST) {
            look_for_signals();
        }
    }
    if (domain.interrupt_is_open && interrupt_must_poll()) {
        uint64_t bits = 0;
        sys_poll(domain.wake, &bits);
        took_bits(bits);
    }
    for (;;) {
        farewell();
        if (take(set, mail)) {
            struct port *port = &domain.port[mail->mailbox >> 8];
            if (port->is_driver) {
                uint32_t verdict = monitor_short_step(&port->monitor, mail->mailbox, mail->cookie, mail->payload, 1);
                if (verdict == MONITOR_NOT_SHORT) {
                    verdict = monitor_step(&port->monitor, mail->mailbox, mail->cookie, mail->payload, 1);
                }
                if (verdict != MONITOR_OK) {
                    monitored_bad_receive(port, mail->mailbox, verdict);
                    domain_cut(port);
                    continue;
                }
            }
            flush();
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
