/* Messages that were taken from their rings, or made here, and are not awaited yet: a queue for each mailbox, and a bit for each that
 * is not empty. So AWAIT looks at the mailboxes that it waits for, however many messages others hold. */
#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "domain_internal.h"

/* Of each link. A peer with more messages that are not awaited sends more than its protocol allows. */
#define NUM_PENDING 576u
#define POOL_PAGES ((NUM_PENDING * sizeof(struct pending) + PAGE_SIZE - 1) / PAGE_SIZE)
#define POOL_AREA (LINK_AREA + LINK_STEP / 2) /* port i's pool stands at + i * LINK_STEP, behind its link */

void pending_start(struct mail_port *port)
{
    uint64_t address = POOL_AREA + port->number * LINK_STEP;
    uint32_t status = sys_mem_map(address, POOL_PAGES, PROT_READ | PROT_WRITE);

    if (status != STATUS_OK) {
        panic("the memory for messages of %s: error %u\n", port->protocol->name, status);
    }
    port->pool = (struct pending *)address;
    for (uint32_t i = 0; i < NUM_PENDING; i++) {
        port->pool[i].next = port->unused;
        port->unused = &port->pool[i];
    }
}

/* The newest message of a mailbox; its `next` is the oldest, and so on: a queue in a circle. */
static struct pending *newest[DOMAIN_PORTS][64];

void domain_append(struct pending *pending, uint32_t mailbox, uint32_t is_first)
{
    uint32_t number = mailbox >> 8;
    struct pending **last = &newest[number][mailbox & 63u];
    struct mail_port *port = &domain_ports[number];

    pending->mail.mailbox = mailbox;
    if ((port->waiting >> (mailbox & 63u) & 1) == 0) {
        pending->next = pending;
        *last = pending;
    } else {
        pending->next = (*last)->next;
        (*last)->next = pending;
        *last = is_first ? *last : pending;
    }
    pending->age = is_first ? domain.first_age-- : domain.age++;
    port->waiting |= 1ul << (mailbox & 63u);
    domain.waiting |= 1u << number;
    domain_known = DOMAIN_NONE_KNOWN;
}

/* Takes the message behind `before` out of its mailbox. */
static void unlink_after(struct pending *before)
{
    struct pending *pending = before->next;
    uint32_t mailbox = pending->mail.mailbox;
    struct mail_port *port = &domain_ports[mailbox >> 8];

    before->next = pending->next;
    if (pending == before) {
        port->waiting &= ~(1ul << (mailbox & 63u));
        domain.waiting &= ~((uint32_t)(port->waiting == 0) << (mailbox >> 8));
    } else if (newest[mailbox >> 8][mailbox & 63u] == pending) {
        newest[mailbox >> 8][mailbox & 63u] = before;
    }
    if (port->pool != 0 && pending >= port->pool && pending < port->pool + NUM_PENDING) {
        pending->next = port->unused;
        port->unused = pending;
    }
}

void domain_retract(struct pending *pending)
{
    uint32_t mailbox = pending->mail.mailbox;
    struct pending *last = newest[mailbox >> 8][mailbox & 63u];

    if ((domain_ports[mailbox >> 8].waiting >> (mailbox & 63u) & 1) == 0) {
        return;
    }
    for (struct pending *before = last;; before = before->next) {
        if (before->next == pending) {
            unlink_after(before);
            return;
        }
        if (before->next == last) {
            return;
        }
    }
}

/* The newest of the mailbox whose oldest message is the oldest of the set's, or null. Looks at no more than one message of each
 * mailbox. */
static struct pending *find_oldest(const struct mail_set *set)
{
    struct pending *found = 0;

    for (uint32_t ports = domain.waiting; ports != 0; ports &= ports - 1) {
        uint32_t number = (uint32_t)__builtin_ctz(ports);
        for (uint64_t left = domain_ports[number].waiting & set->mask[number]; left != 0; left &= left - 1) {
            struct pending *last = newest[number][__builtin_ctzl(left)];
            if (found == 0 || last->next->age < found->next->age) {
                found = last;
            }
        }
    }
    return found;
}

uint32_t pending_take(const struct mail_set *set, struct mail *mail)
{
    struct pending *last = find_oldest(set);

    if (last == 0) {
        return DOMAIN_TIMEOUT;
    }
    *mail = last->next->mail;
    unlink_after(last);
    return mail->mailbox;
}

int domain_has_pending(const struct mail_set *set)
{
    return find_oldest(set) != 0;
}

void pending_forget(uint32_t number)
{
    struct mail_port *port = &domain_ports[number];

    while (port->waiting != 0) {
        unlink_after(newest[number][__builtin_ctzl(port->waiting)]);
    }
}

int pending_keep(struct mail_port *port, uint32_t message)
{
    struct pending *pending = port->unused;

    if (pending == 0) {
        return 0;
    }
    port->unused = pending->next;
    ring_take(&port->link.in, &pending->mail, MAIL_PAYLOAD / 8u);
    domain_append(pending, port->local | message, 0);
    return 1;
}
