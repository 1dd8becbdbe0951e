/* Ports of a domain: where a protocol's messages go, and how its link to another process is opened. */
#include "ashlar/domain.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "domain_internal.h"
#include "pci_protocol.h"
#include "timer_protocol.h"

#define NAME_BYTES 72u
#define KNOCK_FIRST 10000000ul /* ns */

uint32_t domain_route(const struct mail_port *port, uint32_t message)
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

static struct mail_port *open_port(uint32_t number, const struct protocol *protocol, uint32_t is_driver)
{
    struct mail_port *port = &domain_ports[number];

    if (number == DOMAIN_EVENTS || number >= DOMAIN_PORTS || port->protocol != 0 ||
        protocol->num_message > MAIL_LINK_LOST) {
        panic("port %u cannot be opened for protocol %s\n", number, protocol->name);
    }
    port->protocol = protocol;
    port->number = number;
    port->local = AT(number, 0);
    port->bit = 1u << number;
    port->first = protocol->first_mailbox;
    port->take = is_driver ? protocol->take_as_driver : protocol->take_as_client;
    port->send = is_driver ? protocol->send_as_driver : protocol->send_as_client;
    port->unsent = domain_unsent;
    port->refused = domain_refused;
    port->is_driver = is_driver;
    for (uint32_t i = 0; i < protocol->num_message; i++) {
        uint32_t route = domain_route(port, i);
        uint64_t is_heard = (protocol->messages[i].is_incoming != 0) == (is_driver != 0);
        port->says |= (is_heard ^ 1) << i;
        if (route == ROUTE_LINK) {
            port->is_linked = 1;
            port->incoming |= is_heard << i;
            port->outgoing |= (is_heard ^ 1) << i;
        } else if (route != ROUTE_NOWHERE) {
            port->own |= (is_heard ^ 1) << i;
        }
    }
    port->link.is_driver = is_driver;
    port->link.protocol = protocol->first_mailbox >> 8;
    port->link.address = LINK_AREA + number * LINK_STEP;
    if (port->is_linked) {
        pending_start(port);
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

/* The bit that the client sets in this process's notification; 0 if it sets none. */
static uint64_t bit_of(const char *client)
{
    char self[NAME_BYTES];
    char key[2 * NAME_BYTES];
    size_t length = 0;
    uint64_t bit = 0;

    env_name(self, sizeof self);
    format(key, sizeof key, "%s.%s", self, client);
    const char *text = env_text_find((const char *)ENV_VADDR, "bit.", key, &length);
    return text != 0 && env_text_number(text, length, &bit) != 0 ? 1ul << (bit & 63u) : 0;
}

/* Whether all its messages go over the link. */
static int is_whole(const struct mail_port *port)
{
    return (port->incoming | port->outgoing) == (1ul << port->protocol->num_message) - 1;
}

/* Begins to serve a client. A protocol with messages that are the domain's own cannot be led to its end in the client's place. */
static void join(struct mail_port *port, const char *client, uint32_t share)
{
    port->link.share = share;
    port->link.signal = find_slot("notification", client, "");
    port->link.state = LINK_JOINING;
    port->client_bit = is_whole(port) ? bit_of(client) : 0;
    /* What a client has offered to the driver's predecessor; one that waits with a page half accepted looks again. */
    domain_advance_link(port);
    sys_signal(port->link.signal);
}

void domain_serve(const struct protocol *protocol)
{
    char self[NAME_BYTES];
    char client[NAME_BYTES];
    struct mail_port *port = open_port(protocol->first_mailbox >> 8, protocol, 1);

    if (!port->is_linked) {
        return;
    }
    env_name(self, sizeof self);
    if (env_arg(protocol->name, client, sizeof client) < 0) {
        panic("argument %s, the name of the client of that protocol, is missing\n", protocol->name);
    }
    join(port, client, find_slot("share", self, protocol->name));
}

void domain_serve_at(uint32_t number, const struct protocol *protocol, const char *client, const char *share)
{
    struct mail_port *port = open_port(number, protocol, 1);

    if (!is_whole(port)) {
        panic("protocol %s has one link only: it has messages that are the domain's own\n", protocol->name);
    }
    domain.has_clients = 1;
    join(port, client, find_slot("share", share, ""));
}

/* The client's own share if the driver has several clients, else the driver's only one. */
static uint32_t share_of_client(const char *driver, const char *protocol)
{
    char self[NAME_BYTES];
    char own[3 * NAME_BYTES];

    env_name(self, sizeof self);
    format(own, sizeof own, "share.%s-%s-%s", driver, protocol, self);
    uint32_t share = env_slot(own);
    return share != NO_SLOT ? share : find_slot("share", driver, protocol);
}

void domain_connect(uint32_t number, const char *driver, const struct protocol *protocol, uint32_t capacity,
                    uint32_t data_pages)
{
    struct mail_port *port = open_port(number, protocol, 0);

    port->link.share = share_of_client(driver, protocol->name);
    port->link.signal = find_slot("notification", driver, "");
    port->link.capacity = capacity;
    port->link.pages = link_ring_pages(capacity) + data_pages;
    uint32_t status = link_offer(&port->link);
    if (status != STATUS_OK) {
        panic("the memory of the link to %s: error %u\n", driver, status);
    }
    domain.knock_pause = KNOCK_FIRST;
    domain.knock_at = sys_clock() + domain.knock_pause;
}

void domain_hold(uint32_t number)
{
    domain_ports[number].is_held = 1;
}

void domain_release(uint32_t number)
{
    struct mail_port *port = &domain_ports[number];

    if (port->link.state == LINK_UP) {
        port->sendable = port->outgoing;
    }
}

void *domain_data(uint32_t number, uint64_t *bytes)
{
    const struct link *link = &domain_ports[number].link;

    if (number >= DOMAIN_PORTS || link->state != LINK_UP) {
        return 0;
    }
    uint64_t first = link_ring_pages(link->capacity);
    *bytes = (link->pages - first) * PAGE_SIZE;
    return (void *)(link->address + first * PAGE_SIZE);
}
