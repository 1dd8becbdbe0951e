/* A server of several clients of one protocol, each at a port of its own. If there is one at RUDE it attends to that alone at first, until
 * it is cut off for sending more than the protocol allows: what the others have sent meanwhile must still be there. Then it serves
 * all. A filter is set PAUSE_NS after it was asked for. Arguments: `first` and `second`, and maybe `rude` and `hasty`, the clients. */
#include "ashlar/domain.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"
#include "ethernet_protocol.h"

#define PAUSE_NS 20000000ul
#define PATIENCE 20000000000ul
#define FIRST 6u
#define RUDE 9u
#define LAST RUDE

struct client {
    uint32_t is_open;
    struct ethernet_statistics statistics;
    uint64_t filter_due; /* ns since boot, or never */
};

static struct client client[LAST + 1];

static void emit(uint32_t port, uint32_t mailbox, uint64_t cookie, const void *payload, size_t bytes)
{
    void *place = domain_emit_begin(AT(port, mailbox), cookie);

    if (bytes != 0) {
        memcpy(place, payload, bytes);
    }
    domain_emit_end(AT(port, mailbox), cookie);
}

static int serve(const char *argument, uint32_t port)
{
    char name[32];
    char share[80];

    client[port].filter_due = DEADLINE_NEVER;
    if (env_arg(argument, name, sizeof name) < 0) {
        return 0;
    }
    format(share, sizeof share, "crowd-ethernet-%s", name);
    domain_serve_at(port, &ethernet_protocol, name, share);
    return 1;
}

static void receive(uint32_t port, uint32_t message)
{
    static const struct ethernet_open_ok open_ok;
    static const struct ethernet_transmit_done done;
    static const struct ethernet_address_set set;
    uint64_t cookie = domain_current->cookie;

    switch (message | ETHERNET_NUMBER << 8) {
    case ETHERNET_OPEN:
        if (client[port].is_open) {
            panic("CROWD port %u is opened, but the client before has not closed it\n", port);
        }
        client[port].is_open = 1;
        client[port].statistics.sent = 0;
        emit(port, ETHERNET_OPEN_OK, 0, &open_ok, sizeof open_ok);
        break;
    case ETHERNET_CLOSE:
        client[port].is_open = 0;
        emit(port, ETHERNET_CLOSE_OK, 0, 0, 0);
        break;
    case ETHERNET_TRANSMIT:
        client[port].statistics.sent++;
        emit(port, ETHERNET_TRANSMIT_DONE, cookie, &done, sizeof done);
        break;
    case ETHERNET_SET_FILTER:
        client[port].filter_due = sys_clock() + PAUSE_NS;
        break;
    case ETHERNET_SET_ADDRESS:
        emit(port, ETHERNET_ADDRESS_SET, 0, &set, sizeof set);
        break;
    case ETHERNET_GET_STATISTICS:
        emit(port, ETHERNET_STATISTICS, 0, &client[port].statistics, sizeof client[port].statistics);
        break;
    default:
        panic("CROWD message %x was not expected\n", message);
    }
}

/* Answers the filters that are due. Returns when the next one is. */
static uint64_t set_filters(void)
{
    static const struct ethernet_filter_set body;
    uint64_t next = DEADLINE_NEVER;

    for (uint32_t port = FIRST; port <= LAST; port++) {
        struct client *c = &client[port];
        if (c->filter_due <= sys_clock()) {
            c->filter_due = DEADLINE_NEVER;
            emit(port, ETHERNET_FILTER_SET, 0, &body, sizeof body);
        }
        next = c->filter_due < next ? c->filter_due : next;
    }
    return next;
}

/* Waits for the open of the rude client alone, and then for nothing until it has been cut off. */
static void wait_for_flood(void)
{
    struct mail_set set = {{0}};
    uint64_t bytes = 0;
    uint64_t end = sys_clock() + PATIENCE;

    set.mask[RUDE] = 1ul << (ETHERNET_OPEN & 63u);
    if (domain_await(&set, end) == DOMAIN_TIMEOUT) {
        panic("CROWD the rude client does not come\n");
    }
    receive(RUDE, ETHERNET_OPEN & 63u);
    while (domain_data(RUDE, &bytes) != 0) {
        domain_await(&set, sys_clock() + PAUSE_NS);
        if (sys_clock() > end) {
            panic("CROWD the rude client is not cut off\n");
        }
    }
    print("CROWD the rude client is cut off\n");
}

int main(void)
{
    struct mail_set everything = {{0}};

    domain_start();
    serve("first", FIRST);
    serve("second", FIRST + 1);
    serve("hasty", FIRST + 2);
    if (serve("rude", RUDE)) {
        wait_for_flood();
    }
    for (uint32_t port = FIRST; port <= LAST; port++) {
        everything.mask[port] = ~0ul;
    }
    for (;;) {
        uint32_t mailbox = domain_await(&everything, set_filters());
        if (mailbox != DOMAIN_TIMEOUT) {
            receive(mailbox >> 8, mailbox & 63u);
        }
    }
}
