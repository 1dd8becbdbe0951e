/* The run-time monitor of driver protocols. */
#include "ashlar/monitor.h"

#include "ashlar/monitor_check.h"
#include "monitor_step.h"

void monitor_start(struct monitor *monitor, const struct protocol *protocol, uint64_t *open)
{
    monitor->protocol = protocol;
    monitor->open = open;
    monitor->state = 0;
    monitor->first = protocol->first_mailbox;
    for (uint32_t i = 0; i < protocol->num_word; i++) {
        open[i] = 0;
    }
}

static uint32_t words_of(const struct protocol_request *request)
{
    return (request->limit + 63) / 64;
}

/* Whether no request is open of those in the mask. */
static int is_drained(const struct monitor *monitor, uint32_t requests)
{
    const struct protocol *protocol = monitor->protocol;
    for (uint32_t i = 0; i < protocol->num_request; i++) {
        for (uint32_t k = 0; (requests >> i & 1) != 0 && k < words_of(&protocol->requests[i]); k++) {
            if (monitor->open[protocol->requests[i].first_word + k] != 0) {
                return 0;
            }
        }
    }
    return 1;
}

static void drop(const struct monitor *monitor, uint32_t requests)
{
    const struct protocol *protocol = monitor->protocol;
    for (uint32_t i = 0; i < protocol->num_request; i++) {
        for (uint32_t k = 0; (requests >> i & 1) != 0 && k < words_of(&protocol->requests[i]); k++) {
            monitor->open[protocol->requests[i].first_word + k] = 0;
        }
    }
}

/* Whether the fields that have a range are in it. */
static int are_in_range(const struct protocol *protocol, const struct protocol_message *message, const void *payload)
{
    for (uint32_t i = 0; i < message->num_field; i++) {
        const struct protocol_field *field = &protocol->fields[message->first_field + i];
        if (payload == 0 ||
            !monitor_in_range(payload, field->offset, field->bytes, field->count, field->least, field->most)) {
            return 0;
        }
    }
    return 1;
}

/* Opens, closes or finds the request that the cookie names, if the message has one; 0 if that cannot be. */
static int take_cookie(const struct monitor *monitor, const struct protocol_message *message, uint64_t cookie)
{
    const struct protocol_request *request = &monitor->protocol->requests[message->request];

    return message->cookie == MONITOR_NO_COOKIE ||
           monitor_request(monitor, request->first_word, request->limit, message->cookie, cookie);
}

enum monitor_verdict monitor_step(struct monitor *monitor, uint32_t mailbox, uint64_t cookie, const void *payload,
                                  uint8_t is_incoming)
{
    const struct protocol *protocol = monitor->protocol;
    uint32_t id = mailbox - monitor->first;

    if (id >= protocol->num_message || protocol->messages[id].is_incoming != is_incoming) {
        return MONITOR_UNKNOWN;
    }
    const struct protocol_message *message = &protocol->messages[id];
    uint16_t next = protocol->next[monitor->state * protocol->num_message + id];
    if (next == MONITOR_ILLEGAL) {
        return MONITOR_RULE_1;
    }
    if (!are_in_range(protocol, message, payload)) {
        return MONITOR_PAYLOAD;
    }
    if (!is_drained(monitor, message->drained)) {
        return MONITOR_DRAINED;
    }
    if (!take_cookie(monitor, message, cookie)) {
        return MONITOR_COOKIE;
    }
    drop(monitor, message->drops);
    monitor->state = next;
    return MONITOR_OK;
}

enum monitor_verdict monitor_emit(struct monitor *monitor, uint32_t mailbox, uint64_t cookie, const void *payload)
{
    return monitor_step(monitor, mailbox, cookie, payload, 0);
}

enum monitor_verdict monitor_receive(struct monitor *monitor, uint32_t mailbox, uint64_t cookie, const void *payload)
{
    return monitor_step(monitor, mailbox, cookie, payload, 1);
}

static int is_waited_for(uint32_t mailbox, const uint32_t *mailboxes, uint32_t num_mailbox)
{
    for (uint32_t i = 0; i < num_mailbox; i++) {
        if (mailboxes[i] == mailbox) {
            return 1;
        }
    }
    return 0;
}

/* Whether every message of a promise is waited for. */
static int is_covered(const struct monitor *monitor, uint32_t promise, const uint32_t *mailboxes, uint32_t num_mailbox)
{
    const struct protocol *protocol = monitor->protocol;
    uint32_t words = (protocol->num_message + 63) / 64;
    for (uint32_t id = 0; id < protocol->num_message; id++) {
        uint64_t word = protocol->promises[promise * words + id / 64];
        if ((word >> (id % 64) & 1) != 0 && !is_waited_for(monitor->first + id, mailboxes, num_mailbox)) {
            return 0;
        }
    }
    return 1;
}

/* Whether a promise names a message that is owed. */
static int is_owed(const struct protocol *protocol, uint32_t promise)
{
    uint32_t words = (protocol->num_message + 63) / 64;
    for (uint32_t id = 0; id < protocol->num_message; id++) {
        uint64_t word = protocol->promises[promise * words + id / 64];
        if ((word >> (id % 64) & 1) != 0 && protocol->messages[id].is_owed) {
            return 1;
        }
    }
    return 0;
}

/* Whether a wait without an end breaks no rule: no state is timed, and all messages that are enabled are waited for. */
static int may_wait(const struct monitor *monitor, const uint32_t *mailboxes, uint32_t num_mailbox)
{
    const struct protocol *protocol = monitor->protocol;
    for (uint32_t id = 0; id < protocol->num_message; id++) {
        uint16_t next = protocol->next[monitor->state * protocol->num_message + id];
        if (protocol->messages[id].is_incoming && next != MONITOR_ILLEGAL &&
            !is_waited_for(monitor->first + id, mailboxes, num_mailbox)) {
            return 0;
        }
    }
    return !protocol->states[monitor->state].is_timed;
}

enum monitor_verdict monitor_await(const struct monitor *const *monitors, uint32_t num_monitor,
                                   const uint32_t *mailboxes, uint32_t num_mailbox)
{
    uint32_t is_idle = 0;

    for (uint32_t i = 0; i < num_monitor; i++) {
        const struct protocol *protocol = monitors[i]->protocol;
        const struct protocol_state *state = &protocol->states[monitors[i]->state];
        for (uint32_t k = 0; k < state->num_promise; k++) {
            if (is_covered(monitors[i], state->first_promise + k, mailboxes, num_mailbox)) {
                if (is_owed(protocol, state->first_promise + k)) {
                    return MONITOR_OK;
                }
                is_idle = 1;
            }
        }
    }
    for (uint32_t i = 0; i < num_monitor && is_idle; i++) {
        is_idle = may_wait(monitors[i], mailboxes, num_mailbox);
    }
    return is_idle ? MONITOR_OK : MONITOR_RULE_3;
}

enum monitor_verdict monitor_return(const struct monitor *const *monitors, uint32_t num_monitor)
{
    for (uint32_t i = 0; i < num_monitor; i++) {
        if (!monitors[i]->protocol->states[monitors[i]->state].is_final) {
            return MONITOR_RULE_5;
        }
        if (!is_drained(monitors[i], 0xffffffffu)) {
            return MONITOR_DRAINED;
        }
    }
    return MONITOR_OK;
}

const char *monitor_state(const struct monitor *monitor)
{
    return monitor->protocol->states[monitor->state].name;
}

const char *monitor_explain(enum monitor_verdict verdict)
{
    switch (verdict) {
    case MONITOR_OK:
        return "good";
    case MONITOR_RULE_1:
        return "rule 1: the message is not enabled in this state";
    case MONITOR_RULE_3:
        return "rule 3: the AWAIT may never end";
    case MONITOR_RULE_5:
        return "rule 5: the driver returned while a protocol is not in a final state";
    case MONITOR_UNKNOWN:
        return "no message of this protocol in this direction";
    case MONITOR_PAYLOAD:
        return "a field of the payload is out of its range";
    case MONITOR_COOKIE:
        return "the cookie opens a request that is open, or names one that is not";
    case MONITOR_DRAINED:
        return "a request is still open";
    }
    return "?";
}
