/* Replays a run that the checker found on the run-time monitor: the very code and tables that debug images carry.
 *
 * Each field has its least value, but one that the run gives another one. The request that a run is about has the cookie 0 if
 * the run opens it, and otherwise one that no request has. Of the others, a message that opens one takes the first free cookie,
 * and one that names or closes one the first that is open. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "ashlar/monitor.h"
#include "run.h"

static struct monitor monitors[NUM_PROTOCOL];
static uint64_t words[NUM_PROTOCOL][64];

static uint32_t is_opened(uint32_t protocol, uint32_t request)
{
    const struct protocol *own = protocols[protocol];

    for (uint32_t i = 0; i < NUM_EVENT; i++) {
        if ((events[i].kind == SEND || events[i].kind == RECEIVE) && events[i].first && events[i].protocol == protocol) {
            const struct protocol_message *message = &own->messages[events[i].mailbox - own->first_mailbox];
            if (message->cookie == MONITOR_OPENS && message->request == request) {
                return 1;
            }
        }
    }
    return 0;
}

static uint64_t cookie_for(uint32_t protocol, const struct protocol_message *message, uint32_t is_own)
{
    const struct monitor *monitor = &monitors[protocol];
    const struct protocol_request *request = &monitor->protocol->requests[message->request];

    if (message->cookie == MONITOR_NO_COOKIE) {
        return 0;
    }
    uint32_t first = is_opened(protocol, message->request);
    if (is_own) {
        return first ? 0 : request->limit;
    }
    for (uint64_t cookie = first; cookie < request->limit; cookie++) {
        uint32_t is_open = monitor->open[request->first_word + cookie / 64] >> (cookie % 64) & 1;
        if (is_open == (message->cookie != MONITOR_OPENS)) {
            return cookie;
        }
    }
    return 0;
}

static void fill(const struct protocol *protocol, const struct protocol_message *message, uint8_t *payload)
{
    for (uint32_t i = 0; i < message->num_field; i++) {
        const struct protocol_field *field = &protocol->fields[message->first_field + i];
        for (uint32_t k = 0; k < (uint32_t)field->count * field->bytes; k++) {
            payload[field->offset + k] = (uint8_t)(field->least >> (8 * (k % field->bytes)));
        }
    }
}

static enum monitor_verdict step(const struct event *event)
{
    const struct monitor *all[NUM_PROTOCOL];
    struct monitor *monitor = &monitors[event->protocol];
    uint8_t payload[64] = {0};

    for (uint32_t i = 0; i < NUM_PROTOCOL; i++) {
        all[i] = &monitors[i];
    }
    if (event->kind == WAIT) {
        return monitor_await(all, NUM_PROTOCOL, mailboxes + event->first, event->count);
    }
    if (event->kind == RETURN) {
        return monitor_return(all, NUM_PROTOCOL);
    }
    uint32_t id = event->mailbox - monitor->protocol->first_mailbox;
    const struct protocol_message *message = &monitor->protocol->messages[id];
    uint64_t cookie = cookie_for(event->protocol, message, event->first);
    fill(monitor->protocol, message, payload);
    for (uint32_t k = 0; k < event->bytes; k++) {
        payload[event->offset + k] = (uint8_t)(event->value >> (8 * k));
    }
    return event->kind == SEND ? monitor_emit(monitor, event->mailbox, cookie, payload)
                               : monitor_receive(monitor, event->mailbox, cookie, payload);
}

/* The last events, so many times more. A round that leaves all monitors as they were shows what all others do. */
static enum monitor_verdict again(uint32_t i)
{
    enum monitor_verdict verdict = MONITOR_OK;
    uint32_t is_same = 0;

    for (uint32_t times = 0; times < events[i].count && verdict == MONITOR_OK && !is_same; times++) {
        uint32_t states[NUM_PROTOCOL];
        static uint64_t before[NUM_PROTOCOL][64];
        memcpy(before, words, sizeof(words));
        for (uint32_t k = 0; k < NUM_PROTOCOL; k++) {
            states[k] = monitors[k].state;
        }
        for (uint32_t k = i - events[i].first; k < i && verdict == MONITOR_OK; k++) {
            verdict = step(&events[k]);
        }
        is_same = memcmp(before, words, sizeof(words)) == 0;
        for (uint32_t k = 0; k < NUM_PROTOCOL; k++) {
            is_same = is_same && states[k] == monitors[k].state;
        }
    }
    return verdict;
}

/* Prints the number of the event at which the monitor speaks up, and what it says; then the states at the end. */
int main(void)
{
    uint32_t i = 0;
    enum monitor_verdict verdict = MONITOR_OK;

    for (uint32_t k = 0; k < NUM_PROTOCOL; k++) {
        monitor_start(&monitors[k], protocols[k], words[k]);
    }
    while (i < NUM_EVENT && verdict == MONITOR_OK) {
        verdict = events[i].kind == AGAIN ? again(i) : step(&events[i]);
        i++;
    }
    printf("%u %d", i, (int)verdict);
    for (uint32_t k = 0; k < NUM_PROTOCOL; k++) {
        printf(" %u", monitors[k].state);
    }
    printf("\n");
    return 0;
}
