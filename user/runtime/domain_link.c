/* Links of a domain's ports: what is done when one comes up, goes down, or waits for its driver. How a link is made stands in
 * link.c. */
#include "ashlar/domain.h"
#include "ashlar/syscall.h"
#include "domain_internal.h"

#define KNOCK_MOST 1000000000ul /* ns */

static struct pending link_news[DOMAIN_PORTS];

/* The first page of a client's link is not taken yet. */
static int has_to_knock(const struct mail_port *port)
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

static uint32_t is_untaken(const struct mail_port *port, uint32_t news)
{
    return !port->is_driver && (port->waiting >> news & 1) != 0;
}

static void tell_link(const struct mail_port *port, uint32_t news)
{
    if (!port->is_driver) {
        domain_append(&link_news[port->number], AT(port->number, news), 0);
    }
}

void domain_lose(struct mail_port *port)
{
    uint32_t never_knew = is_untaken(port, MAIL_LINK_UP);

    domain_known = DOMAIN_NONE_KNOWN;
    port->sendable = 0;
    pending_forget(port->number);
    if (!never_knew) {
        tell_link(port, MAIL_LINK_LOST);
    }
}

void domain_refuse(uint32_t number)
{
    /* Of a driver that is gone, nothing is left to be refused. */
    if (domain_ports[number].link.state == LINK_UP) {
        domain_cut(&domain_ports[number]);
    }
}

void domain_advance_link(struct mail_port *port)
{
    if (is_untaken(port, MAIL_LINK_LOST) || !link_advance(&port->link)) {
        return;
    }
    if (port->link.state == LINK_UP) {
        domain_known = DOMAIN_NONE_KNOWN;
        port->sendable = port->is_held ? 0 : port->outgoing;
        tell_link(port, MAIL_LINK_UP);
        forget_knock();
        dma_link_up(port->number);
    } else {
        domain_lose(port);
        dma_link_down(port->number);
    }
}

/* A driver that is woken by messages of a client does not see that another client signals at the same moment. So a client signals
 * again, ever more seldom, until its first page is taken. */
void domain_knock(uint64_t now)
{
    domain.knock_at = DEADLINE_NEVER;
    for (uint32_t i = 0; i < domain.num_linked; i++) {
        struct mail_port *port = domain.linked[i];
        if (has_to_knock(port)) {
            sys_signal(port->link.signal);
            domain.knock_at = now + domain.knock_pause;
        }
    }
    domain.knock_pause = domain.knock_pause < KNOCK_MOST ? 2 * domain.knock_pause : KNOCK_MOST;
}
