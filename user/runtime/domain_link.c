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

/* A message says that the link of a client's port came up or was lost; a later one replaces one that is still pending. */
static void tell_link(const struct mail_port *port, uint32_t is_up)
{
    domain_retract(&link_news[port->number]);
    domain_append(&link_news[port->number], AT(port->number, is_up ? MAIL_LINK_UP : MAIL_LINK_LOST), 0);
}

void domain_refuse(uint32_t number)
{
    domain_cut(&domain_ports[number]);
    tell_link(&domain_ports[number], 0);
}

/* Continues setting up a link; notes one that came up or went down. */
void domain_advance_link(struct mail_port *port)
{
    if (!link_advance(&port->link)) {
        return;
    }
    uint32_t is_up = port->link.state == LINK_UP;
    domain_known = DOMAIN_NONE_KNOWN;
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
