/* A monitor's step. */
#ifndef ASHLAR_MONITOR_STEP_H
#define ASHLAR_MONITOR_STEP_H

#include "ashlar/monitor.h"

/* The step of any message. */
enum monitor_verdict monitor_step(struct monitor *monitor, uint32_t mailbox, uint64_t cookie, const void *payload,
                                  uint8_t is_incoming);

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

/* Where message `id` leads from the monitor's state, if it is one of this direction and enabled there. */
static inline __attribute__((always_inline)) uint32_t monitor_transition(const struct monitor *monitor, uint32_t id,
                                                                         uint8_t is_incoming, uint16_t *next)
{
    const struct protocol *protocol = monitor->protocol;

    if (id >= protocol->num_message || protocol->messages[id].is_incoming != is_incoming) {
        return MONITOR_UNKNOWN;
    }
    *next = protocol->next[monitor->state * protocol->num_message + id];
    return *next == MONITOR_ILLEGAL ? MONITOR_RULE_1 : MONITOR_OK;
}

/* No verdict: nothing was done, and monitor_step() is to be asked. */
#define MONITOR_NOT_SHORT (MONITOR_DRAINED + 1u)

/* The step of a message without arrays and without conditions on open requests. In a driver's way with every message, so it
 * calls nothing: then nothing has to be kept over a call. */
static inline __attribute__((always_inline)) uint32_t monitor_short_step(struct monitor *monitor, uint32_t mailbox,
                                                                         uint64_t cookie, const uint8_t *payload,
                                                                         uint8_t is_incoming)
{
    const struct protocol *protocol = monitor->protocol;
    uint32_t id = mailbox - monitor->first;
    uint16_t next;
    uint32_t verdict = monitor_transition(monitor, id, is_incoming, &next);

    if (verdict != MONITOR_OK) {
        return verdict;
    }
    const struct protocol_message *message = &protocol->messages[id];
    if ((message->drained | message->drops) != 0) {
        return MONITOR_NOT_SHORT;
    }
    const struct protocol_field *field = &protocol->fields[message->first_field];
    for (uint32_t left = message->num_field; left != 0; left--) {
        if (field->count != 1) {
            return MONITOR_NOT_SHORT;
        }
        if (element(payload + field->offset, field->bytes) - field->least > field->most - field->least) {
            return MONITOR_PAYLOAD;
        }
        field++;
    }
    if (message->cookie != MONITOR_NO_COOKIE && !take_cookie(monitor, message, cookie)) {
        return MONITOR_COOKIE;
    }
    monitor->state = next;
    return MONITOR_OK;
}

#endif
