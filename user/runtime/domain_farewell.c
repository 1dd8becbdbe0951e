/* A client that was started anew while its server lives. The predecessor's pages are still mapped here, and its protocol stands
 * wherever it was left. So the server is led to the protocol's end first: the messages that a client ends with (`stop`,
 * `close`) are given to it in the place of the one that is gone, each where the protocol allows it. What is answered goes nowhere,
 * and at the end no request is open and the server has no more use for the pages.
 *
 * Then the new client is served. Pages whose physical addresses a process has asked for stay mapped until it ends. So a process with
 * the right to DMA ends instead, for its parent to start it again; unless it has other clients, who go on: then the new one's pages
 * are mapped elsewhere, as long as there are places and quota. */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "domain_internal.h"

#define MAX_STATES 1024u
#define FAR 0xffffu

static struct pending message[DOMAIN_PORTS]; /* the next one of each, in the list of pending messages */
static uint16_t distance[MAX_STATES];        /* messages from a state to a final one */

/* Whether a client can end with this message whatever it has done before. */
static int is_plain(const struct protocol_message *m)
{
    return m->is_incoming && m->cookie == MONITOR_NO_COOKIE && m->num_field == 0 && m->drained == 0;
}

/* Where a message leads from a state, or MONITOR_ILLEGAL. A server must answer in a timed state only: nothing else that it may
 * send is counted on. */
static uint32_t step(const struct protocol *protocol, uint32_t state, uint32_t id)
{
    const struct protocol_message *m = &protocol->messages[id];

    if (is_plain(m) || (!m->is_incoming && protocol->states[state].is_timed)) {
        return protocol->next[state * protocol->num_message + id];
    }
    return MONITOR_ILLEGAL;
}

static uint32_t distance_after(const struct protocol *protocol, uint32_t state, uint32_t id)
{
    uint32_t next = step(protocol, state, id);
    return next == MONITOR_ILLEGAL ? FAR : distance[next];
}

static int shorten(const struct protocol *protocol, uint32_t state)
{
    int is_shorter = 0;

    for (uint32_t id = 0; id < protocol->num_message; id++) {
        uint32_t after = distance_after(protocol, state, id);
        if (after != FAR && after + 1 < distance[state]) {
            distance[state] = (uint16_t)(after + 1);
            is_shorter = 1;
        }
    }
    return is_shorter;
}

static void measure(const struct protocol *protocol)
{
    int has_changed = 1;

    for (uint32_t state = 0; state < protocol->num_state; state++) {
        distance[state] = protocol->states[state].is_final ? 0 : FAR;
    }
    while (has_changed) {
        has_changed = 0;
        for (uint32_t state = 0; state < protocol->num_state; state++) {
            has_changed |= shorten(protocol, state);
        }
    }
}

/* The client's message that is next on the shortest way to the end, or num_message: then it is the server's turn. */
static uint32_t next_message(const struct monitor *monitor)
{
    const struct protocol *protocol = monitor->protocol;
    uint32_t best = protocol->num_message;
    uint32_t least;

    measure(protocol);
    least = distance[monitor->state];
    for (uint32_t id = 0; id < protocol->num_message; id++) {
        if (is_plain(&protocol->messages[id]) && distance_after(protocol, monitor->state, id) < least) {
            least = distance_after(protocol, monitor->state, id);
            best = id;
        }
    }
    return best;
}

/* Makes room for the new client's pages. */
static void give_back(struct mail_port *port)
{
    if (env_slot_of_kind("dma") == NO_SLOT) {
        link_rejoin(&port->link);
    } else if (!domain.has_clients || !link_rejoin_elsewhere(&port->link)) {
        panic("DRIVER the client of %s was started anew, so the driver ends, to be started anew too\n",
              port->protocol->name);
    }
}

static void serve_anew(struct mail_port *port)
{
    give_back(port);
    port->is_leaving = 0;
    domain.num_leaving--;
    monitored_start(port);
    dma_link_down(port->number);
    domain_advance_link(port);
}

void farewell_look(struct mail_port *port)
{
    if (port->is_leaving || !link_is_replaced(&port->link)) {
        return;
    }
    if (port->link.state == LINK_JOINING || port->protocol->num_state > MAX_STATES) {
        link_rejoin(&port->link); /* its predecessor has never said anything */
        domain_advance_link(port);
        return;
    }
    port->link.state = LINK_CUT;
    ring_close(&port->link.out, &port->link.in);
    port->sendable = 0;
    pending_forget(port->number);
    port->is_leaving = 1;
    domain.num_leaving++;
    domain_known = DOMAIN_NONE_KNOWN;
}

void farewell_continue(void)
{
    for (uint32_t i = 0; i < domain.num_linked; i++) {
        struct mail_port *port = domain.linked[i];
        const struct monitor *monitor = &port->monitor;
        if (!port->is_leaving) {
            continue;
        }
        domain_retract(&message[port->number]); /* the protocol may have moved on since */
        if (monitor_return(&monitor, 1) == MONITOR_OK) {
            serve_anew(port);
            continue;
        }
        uint32_t next = next_message(monitor);
        if (next < port->protocol->num_message) {
            domain_append(&message[port->number], AT(port->number, next), 0);
        }
    }
}
