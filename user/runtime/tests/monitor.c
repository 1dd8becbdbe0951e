/* The monitor's short step beside its full one: on random walks through every protocol, with right and wrong messages, both
 * say the same and leave the same, or the short one leaves the message to the other and has changed nothing. */
#include "../monitor.c"

#include <string.h>

#include "../../libc/tests/check.h"

#include "audio_protocol.h"
#include "ethernet_protocol.h"
#include "pci_protocol.h"
#include "sata_protocol.h"
#include "timer_protocol.h"

#define STEPS 2000000u
#define MOST_WORDS 32u
#define PAYLOAD 40u

static uint64_t seed = 1;

static uint64_t random_below(uint64_t limit)
{
    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
    return (seed >> 33) % limit;
}

/* A message: mostly one that the state enables, with a payload that is mostly within its ranges. */
static uint32_t choose(const struct monitor *monitor, uint8_t *payload, uint8_t *is_incoming)
{
    const struct protocol *protocol = monitor->protocol;
    uint32_t id = (uint32_t)random_below(protocol->num_message + 1);

    for (uint32_t tries = 0; tries < 64 && random_below(64) != 0; tries++) {
        if (id < protocol->num_message &&
            protocol->next[monitor->state * protocol->num_message + id] != MONITOR_ILLEGAL) {
            break;
        }
        id = (uint32_t)random_below(protocol->num_message + 1);
    }
    for (uint32_t i = 0; i < PAYLOAD; i++) {
        payload[i] = (uint8_t)random_below(256);
    }
    if (id == protocol->num_message) {
        *is_incoming = 0;
        return protocol->first_mailbox + id;
    }
    const struct protocol_message *message = &protocol->messages[id];
    *is_incoming = (uint8_t)(message->is_incoming ^ (random_below(64) == 0));
    for (uint32_t i = 0; i < message->num_field; i++) {
        const struct protocol_field *field = &protocol->fields[message->first_field + i];
        for (uint32_t k = 0; k < field->count && random_below(32) != 0; k++) {
            uint64_t span = field->most - field->least + 1;
            uint64_t value = field->least + (span == 0 ? seed : random_below(span));
            memcpy(payload + field->offset + k * field->bytes, &value, field->bytes);
        }
    }
    return protocol->first_mailbox + id;
}

static void walk(const struct protocol *protocol)
{
    uint64_t own[MOST_WORDS + 1] = {0};
    uint64_t other[MOST_WORDS + 1] = {0};
    uint64_t verdicts[MONITOR_NOT_SHORT + 1] = {0};
    struct monitor full;
    struct monitor brief;

    CHECK(protocol->num_word <= MOST_WORDS);
    monitor_start(&full, protocol, own);
    monitor_start(&brief, protocol, other);
    for (uint32_t step = 0; step < STEPS; step++) {
        uint8_t payload[PAYLOAD];
        uint8_t is_incoming;
        uint32_t mailbox = choose(&full, payload, &is_incoming);
        uint64_t cookie = random_below(protocol->num_request != 0 ? protocol->requests[0].limit + 2 : 4);
        struct monitor before = brief;
        uint32_t verdict = monitor_short_step(&brief, mailbox, cookie, payload, is_incoming);

        verdicts[verdict]++;
        if (verdict == MONITOR_NOT_SHORT) {
            CHECK(brief.state == before.state && memcmp(own, other, sizeof own) == 0);
            verdict = monitor_step(&brief, mailbox, cookie, payload, is_incoming);
        }
        CHECK(verdict == (uint32_t)monitor_step(&full, mailbox, cookie, payload, is_incoming));
        CHECK(full.state == brief.state && memcmp(own, other, sizeof own) == 0);
    }
    CHECK(verdicts[MONITOR_OK] != 0 && verdicts[MONITOR_RULE_1] != 0 && verdicts[MONITOR_UNKNOWN] != 0);
    if (protocol == &ethernet_protocol) {
        CHECK(verdicts[MONITOR_PAYLOAD] != 0 && verdicts[MONITOR_COOKIE] != 0 && verdicts[MONITOR_NOT_SHORT] != 0);
    }
}

/* An abort that the client has sent before it knew that the command was done, is no fault of the client's. */
static void abort_crosses_done(void)
{
    static const uint32_t to_active[] = {SATA_START,       SATA_START_OK,  SATA_PLUGGED,
                                         SATA_RESET,       SATA_RESET_OK,  SATA_IDENTIFY,
                                         SATA_IDENTIFY_OK, SATA_CONFIGURE, SATA_CONFIGURE_OK};
    static const uint32_t end[] = {SATA_READ, SATA_DONE, SATA_ABORT, SATA_FROZEN};
    uint8_t payload[PAYLOAD];
    uint64_t open[MOST_WORDS + 1] = {0};
    struct monitor monitor;

    monitor_start(&monitor, &sata_protocol, open);
    for (uint32_t i = 0; i < sizeof to_active / sizeof to_active[0] + sizeof end / sizeof end[0]; i++) {
        uint32_t number = sizeof to_active / sizeof to_active[0];
        uint32_t mailbox = i < number ? to_active[i] : end[i - number];
        const struct protocol_message *message = &sata_protocol.messages[mailbox & 0xffu];
        memset(payload, 0, sizeof payload);
        for (uint32_t k = 0; k < message->num_field; k++) {
            const struct protocol_field *field = &sata_protocol.fields[message->first_field + k];
            memcpy(payload + field->offset, &field->least, field->bytes);
        }
        CHECK(monitor_step(&monitor, mailbox, 5, payload, message->is_incoming) == MONITOR_OK);
    }
}

int main(void)
{
    walk(&audio_protocol);
    walk(&ethernet_protocol);
    walk(&pci_protocol);
    walk(&sata_protocol);
    abort_crosses_done();
    walk(&timer_protocol);
    return 0;
}
