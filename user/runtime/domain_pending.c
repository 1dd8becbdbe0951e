/* Messages that were taken from their rings, or made here, and are not awaited yet: a list, oldest first. */
#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "domain_internal.h"

/* Of each link. A peer with more messages that are not awaited sends more than its protocol allows. */
#define NUM_PENDING 576u
#define POOL_PAGES ((NUM_PENDING * sizeof(struct pending) + PAGE_SIZE - 1) / PAGE_SIZE)
#define POOL_AREA (LINK_AREA + LINK_STEP / 2) /* port i's pool stands at + i * LINK_STEP, behind its link */

void pending_start(struct port *port)
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

int pending_take(const struct mail_set *set, struct mail *mail)
{
    struct pending *before = 0;

    for (struct pending *p = domain.first; p != 0; p = p->next) {
        if (is_in(set, p->mail.mailbox)) {
            *mail = p->mail;
            unlink_after(before, p);
            struct port *port = &domain.port[mail->mailbox >> 8];
            if (p >= port->pool && p < port->pool + NUM_PENDING) {
                p->next = port->unused;
                port->unused = p;
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

void pending_forget(uint32_t port)
{
    struct mail_set all = {{0}};
    struct mail mail;

    all.mask[port] = ~0ul;
    while (pending_take(&all, &mail)) {
    }
}

int pending_keep(struct port *port, const struct mail *mail)
{
    struct pending *pending = port->unused;

    if (pending == 0) {
        return 0;
    }
    port->unused = pending->next;
    pending->mail = *mail;
    domain_append(pending, mail->mailbox, 0);
    return 1;
}
