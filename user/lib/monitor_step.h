/* A monitor's step, inline: it is in a driver's way with every message. */
#ifndef ASHLAR_MONITOR_STEP_H
#define ASHLAR_MONITOR_STEP_H

#include "ashlar/monitor.h"

/* What few messages need. */
int monitor_are_in_range(const struct protocol_field *field, const uint8_t *payload);
int monitor_is_drained(const struct monitor *monitor, uint32_t requests);
void monitor_drop(const struct monitor *monitor, uint32_t requests);

/* A number of 1, 2, 4 or 8 bytes, wherever it stands. */
static inline uint64_t element(const uint8_t *bytes, uint32_t count)
{
    uint16_t two;
    uint32_t four;
    uint64_t eight;

    switch (count) {
    case 1:
        return bytes[0];
    case 2:
        __builtin_memcpy(&two, bytes, sizeof two);
        return two;
    case 4:
        __builtin_memcpy(&four, bytes, sizeof four);
        return four;
    default:
        __builtin_memcpy(&eight, bytes, sizeof eight);
        return eight;
    }
}

static inline int is_in_range(const struct protocol_field *field, const uint8_t *payload)
{
    if (field->count != 1) {
        return monitor_are_in_range(field, payload);
    }
    return element(payload + field->offset, field->bytes) - field->least <= field->most - field->least;
}

/* Opens, closes or finds the request that the cookie names; 0 if that cannot be. */
static inline int take_cookie(const struct monitor *monitor, const struct protocol_message *message, uint64_t cookie)
{
    const struct protocol_request *request = &monitor->protocol->requests[message->request];
    uint64_t bit = (uint64_t)1 << (cookie % 64);

    if (cookie >= request->limit) {
        return 0;
    }
    uint64_t *word = &monitor->open[request->first_word + cookie / 64];
    uint64_t open = *word;
    if (message->cookie == MONITOR_OPENS) {
        *word = open | bit;
        return (open & bit) == 0;
    }
    if (message->cookie == MONITOR_CLOSES) {
        *word = open & ~bit;
    }
    return (open & bit) != 0;
}

/* In a driver's way with every message: kept short. */
static inline __attribute__((always_inline)) enum monitor_verdict monitor_step(struct monitor *monitor, uint32_t mailbox,
                                                                       uint64_t cookie, const void *payload,
                                                                       uint8_t is_incoming)
{
    const struct protocol *protocol = monitor->protocol;
    uint32_t id = mailbox - protocol->first_mailbox;

    if (id >= protocol->num_message || protocol->messages[id].is_incoming != is_incoming) {
        return MONITOR_UNKNOWN;
    }
    const struct protocol_message *message = &protocol->messages[id];
    uint16_t next = protocol->next[monitor->state * protocol->num_message + id];
    if (next == MONITOR_ILLEGAL) {
        return MONITOR_RULE_1;
    }
    const struct protocol_field *field = &protocol->fields[message->first_field];
    for (uint32_t left = message->num_field; left != 0; left--) {
        if (payload == 0 || !is_in_range(field, payload)) {
            return MONITOR_PAYLOAD;
        }
        field++;
    }
    uint32_t special = message->drained | message->drops;
    if (special != 0 && !monitor_is_drained(monitor, message->drained)) {
        return MONITOR_DRAINED;
    }
    if (message->cookie != MONITOR_NO_COOKIE && !take_cookie(monitor, message, cookie)) {
        return MONITOR_COOKIE;
    }
    if (special != 0) {
        monitor_drop(monitor, message->drops);
    }
    monitor->state = next;
    return MONITOR_OK;
}

#endif
