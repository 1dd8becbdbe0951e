/* The run-time monitor of a driver's protocols. */
#include "ashlar/print.h"
#include "dispatch.h"
#include "domain_internal.h"

void monitored_start(struct mail_port *port)
{
    if (port->protocol->num_word > PORT_MONITOR_WORDS) {
        panic("monitor: protocol %s has more requests than can be followed\n", port->protocol->name);
    }
    monitor_start(&port->monitor, port->protocol, port->open);
    port->monitor.first = AT(port->number, 0);
}

static const char *message_name(const struct mail_port *port, uint32_t mailbox)
{
    uint32_t number = mailbox & 0xffu;
    return number < port->protocol->num_message ? port->protocol->messages[number].name : "?";
}

/* The protocol, and which link of it where that is not clear. */
static const char *link_name(const struct mail_port *port)
{
    static char name[64];

    if (port->number == port->first >> 8) {
        return port->protocol->name;
    }
    format(name, sizeof name, "%s at port %lu", port->protocol->name, port->number);
    return name;
}

_Noreturn void monitored_bad_emit(const struct mail_port *port, uint32_t mailbox, enum monitor_verdict verdict)
{
    panic("MONITOR %s: !%s in state %s: %s\n", link_name(port), message_name(port, mailbox),
          monitor_state(&port->monitor), monitor_explain(verdict));
}

void monitored_bad_receive(const struct mail_port *port, uint32_t mailbox, enum monitor_verdict verdict)
{
    print("MONITOR %s: the client's ?%s in state %s: %s\n", link_name(port), message_name(port, mailbox),
          monitor_state(&port->monitor), monitor_explain(verdict));
}

#ifdef ASHLAR_MONITOR
/* The monitors of all protocols, in their order. */
static uint32_t monitors(const struct monitor *all[DOMAIN_PORTS])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < DOMAIN_PORTS; i++) {
        if (domain_ports[i].protocol != 0 && domain_ports[i].is_driver) {
            all[count] = &domain_ports[i].monitor;
            count++;
        }
    }
    return count;
}

/* Whether messages of a driver are waited for: no monitor follows the protocol on its client's side. */
static int is_clients(const struct mail_set *set)
{
    for (uint32_t i = 0; i < domain.num_linked; i++) {
        if (!domain.linked[i]->is_driver && set->mask[domain.linked[i]->number] != 0) {
            return 1;
        }
    }
    return 0;
}

/* Rule 3 for the domain: what all its threads wait for counts, since they wait for it together. */
void monitored_await(const struct mail_set *own)
{
    const struct monitor *all[DOMAIN_PORTS];
    uint32_t mailbox[DOMAIN_PORTS * 64];
    uint32_t count = 0;
    uint32_t num_monitor = monitors(all);
    struct mail_set set = *own;

    if (!dispatch_all_sets(&set) || is_clients(&set)) {
        return;
    }
    for (uint32_t bit = 0; bit < DOMAIN_PORTS * 64; bit++) {
        if ((set.mask[bit / 64] >> (bit % 64) & 1) != 0) {
            mailbox[count] = (bit / 64) << 8 | bit % 64;
            count++;
        }
    }
    if (num_monitor != 0 && monitor_await(all, num_monitor, mailbox, count) != MONITOR_OK) {
        print("MONITOR: an AWAIT that may never end:");
        for (uint32_t i = 0; i < num_monitor; i++) {
            print(" %s in %s", all[i]->protocol->name, monitor_state(all[i]));
        }
        panic(": %s\n", monitor_explain(MONITOR_RULE_3));
    }
}

void monitored_return(void)
{
    const struct monitor *all[DOMAIN_PORTS];
    uint32_t num_monitor = monitors(all);

    enum monitor_verdict verdict = monitor_return(all, num_monitor);

    if (verdict != MONITOR_OK) {
        panic("MONITOR: at the driver's return: %s\n", monitor_explain(verdict));
    }
}
#endif
