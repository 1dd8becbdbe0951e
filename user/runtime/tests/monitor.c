/* The steps that are written for single messages beside the one by the tables: on random walks through every protocol, with right
 * and wrong messages, they say the same and leave the same. So do those that a driver's port takes and sends messages with; a client's
 * gets what was sent, and sends what it was given. */
#include "../monitor.c"

#include "ashlar/mail_port.h"

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

static enum monitor_verdict own_step(struct monitor *monitor, uint32_t mailbox, uint64_t cookie, const void *payload,
                                     uint64_t size, uint8_t is_incoming)
{
    const struct protocol *protocol = monitor->protocol;
    uint32_t id = mailbox - monitor->first;

    if (id >= protocol->num_message || protocol->messages[id].is_incoming != is_incoming) {
        return MONITOR_UNKNOWN;
    }
    return protocol->check[id](monitor, cookie, payload, size);
}

static enum monitor_verdict refusal;

static uint32_t refused(const struct mail_set *set, uint64_t deadline, struct mail_port *port, uint32_t message,
                        enum monitor_verdict verdict)
{
    CHECK(set == 0 && deadline == 5 && (port->link.in.first & 0xffffu) == port->protocol->first_mailbox);
    refusal = verdict;
    return 1000 + message;
}

/* A message as it comes out of a ring. */
struct taken {
    struct mail_port port;
    struct mail slot, mail;
};

static void begin(struct taken *t, const struct monitor *monitor, uint32_t is_driver)
{
    const struct protocol *protocol = monitor->protocol;

    memset(t, 0, sizeof *t);
    t->port = (struct mail_port){.monitor = *monitor, .protocol = protocol, .local = 0x700, .refused = refused};
    t->port.take = is_driver ? protocol->take_as_driver : protocol->take_as_client;
    t->port.link.in = (struct ring_consumer){.at = &t->slot, .first = protocol->first_mailbox};
}

static uint32_t num_unsent;

/* At least so many bytes has its payload: those of the fields that have a range. */
static uint64_t payload_bytes(const struct protocol *protocol, const struct protocol_message *message)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < message->num_field; i++) {
        const struct protocol_field *field = &protocol->fields[message->first_field + i];
        uint64_t end = field->offset + (uint64_t)field->bytes * field->count;
        bytes = end > bytes ? end : bytes;
    }
    return bytes;
}

static uint32_t unsent(struct mail_port *port, uint32_t message, uint64_t cookie, const void *body, uint64_t size)
{
    (void)message, (void)cookie, (void)body, (void)size;
    CHECK(port->link.out.first == port->protocol->first_mailbox);
    num_unsent++;
    return 0;
}

/* Sends at a driver's port what it sends, and at a client's what that sends. What stands in the ring before is not looked at: the peer
 * may have written it. */
static void send(const struct monitor *monitor, uint32_t mailbox, uint64_t cookie, const uint8_t *payload,
                 enum monitor_verdict expected, struct monitor *after)
{
    uint32_t id = mailbox - monitor->protocol->first_mailbox;
    const struct protocol_message *message = &monitor->protocol->messages[id];
    uint32_t is_driver = !message->is_incoming;
    static struct taken t;

    begin(&t, monitor, is_driver);
    t.port.send = is_driver ? monitor->protocol->send_as_driver : monitor->protocol->send_as_client;
    t.port.unsent = unsent;
    t.port.bit = 0x80;
    t.port.link.out = (struct ring_producer){.at = &t.slot, .end = &t.slot, .first = monitor->protocol->first_mailbox};
    memset(t.slot.payload, 0xff, PAYLOAD);
    num_unsent = 0;
    if (t.port.send[id] == 0) {
        CHECK(is_driver); /* an act of the driver itself */
        return;
    }
    CHECK(t.port.send[id](&t.port, cookie, payload, PAYLOAD) == 0 && num_unsent == 1); /* there is no room */
    t.port.link.out.end++;
    uint64_t bytes = payload_bytes(monitor->protocol, message);
    if (bytes != 0) {
        CHECK(t.port.send[id](&t.port, cookie, payload, bytes - 1) == 0 &&
              num_unsent == 2); /* the payload is not whole */
        num_unsent = 1;
    }
    uint32_t result = t.port.send[id](&t.port, cookie, payload, PAYLOAD);
    if (is_driver && expected != MONITOR_OK) {
        CHECK(result == 0 && num_unsent == 2 && t.port.link.out.at == &t.slot);
        return;
    }
    CHECK(result == 0x80 && num_unsent == 1 && t.port.link.out.at == &t.slot + 1);
    CHECK(t.slot.mailbox == mailbox && t.slot.sequence == 0 && t.slot.cookie == cookie);
    for (uint32_t i = 0; i < message->num_field; i++) {
        const struct protocol_field *field = &monitor->protocol->fields[message->first_field + i];
        CHECK(memcmp(t.slot.payload + field->offset, payload + field->offset, field->bytes * field->count) == 0);
    }
    if (is_driver) {
        *after = t.port.monitor;
    }
}

/* What the other side would say: takes a message that the port's side receives. */
static void take(const struct monitor *monitor, uint32_t mailbox, uint64_t cookie, const uint8_t *payload,
                 enum monitor_verdict expected, struct monitor *after)
{
    uint32_t id = mailbox - monitor->protocol->first_mailbox;
    const struct protocol_message *message = &monitor->protocol->messages[id];
    static struct taken t;

    begin(&t, monitor, message->is_incoming);
    t.slot.cookie = cookie;
    memcpy(t.slot.payload, payload, PAYLOAD);
    refusal = MONITOR_OK;
    if (t.port.take[id] == 0) {
        CHECK(!message->is_incoming); /* an act of the driver itself: nothing is sent */
        return;
    }
    uint32_t result = t.port.take[id](0, 5, &t.port, &t.mail, id);
    CHECK(t.port.link.in.at == &t.slot + 1 && t.port.link.in.first == monitor->protocol->first_mailbox + RING_NEXT);
    CHECK(t.mail.cookie == cookie);
    for (uint32_t i = 0; i < message->num_field; i++) {
        const struct protocol_field *field = &monitor->protocol->fields[message->first_field + i];
        CHECK(memcmp(t.mail.payload + field->offset, payload + field->offset, field->bytes * field->count) == 0);
    }
    if (message->is_incoming) {
        CHECK(refusal == expected && result == (expected == MONITOR_OK ? 0x700 + id : 1000 + id));
        *after = t.port.monitor;
    } else {
        CHECK(refusal == MONITOR_OK && result == 0x700 + id);
    }
}

static void walk(const struct protocol *protocol)
{
    uint64_t own[MOST_WORDS + 1] = {0};
    uint64_t other[MOST_WORDS + 1] = {0};
    uint64_t verdicts[MONITOR_DRAINED + 1] = {0};
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
        enum monitor_verdict verdict = monitor_step(&full, mailbox, cookie, payload, is_incoming);

        verdicts[verdict]++;
        if (verdict == MONITOR_UNKNOWN || random_below(2) == 0 ||
            (protocol->send_as_driver[mailbox & 0xffu] == 0 && !is_incoming)) {
            CHECK(own_step(&brief, mailbox, cookie, payload, PAYLOAD, is_incoming) == verdict);
        } else {
            take(&brief, mailbox, cookie, payload, verdict, &brief);
            send(&brief, mailbox, cookie, payload, verdict, &brief);
        }
        CHECK(full.state == brief.state && memcmp(own, other, sizeof own) == 0);
    }
    CHECK(verdicts[MONITOR_OK] != 0 && verdicts[MONITOR_RULE_1] != 0 && verdicts[MONITOR_UNKNOWN] != 0);
    if (protocol == &ethernet_protocol) {
        CHECK(verdicts[MONITOR_PAYLOAD] != 0 && verdicts[MONITOR_COOKIE] != 0 && verdicts[MONITOR_DRAINED] != 0);
    }
}

/* A payload that is shorter than the fields that have a range, or none, is no payload of the message. */
static void short_payload(void)
{
    uint64_t open[MOST_WORDS + 1] = {0};
    struct monitor monitor;
    struct ethernet_transmit body = {0, 64, 0};

    monitor_start(&monitor, &ethernet_protocol, open);
    CHECK(own_step(&monitor, ETHERNET_OPEN, 0, 0, 0, 1) == MONITOR_OK);
    CHECK(own_step(&monitor, ETHERNET_OPEN_OK, 0, 0, 0, 0) == MONITOR_OK);
    CHECK(own_step(&monitor, ETHERNET_TRANSMIT, 3, 0, 0, 1) == MONITOR_PAYLOAD);
    CHECK(own_step(&monitor, ETHERNET_TRANSMIT, 3, &body, 7, 1) == MONITOR_PAYLOAD);
    CHECK(own_step(&monitor, ETHERNET_TRANSMIT, 3, &body, 8, 1) == MONITOR_OK && open[0] == 8);
}

/* The first and the last value of a range, and those beyond; the last cookie, and the one beyond. */
static void boundaries(void)
{
    static const struct {
        uint64_t cookie;
        uint16_t length, offload;
        enum monitor_verdict verdict;
    } cases[] = {
        {0, 14, 0, MONITOR_OK},
        {1, 1518, 7, MONITOR_OK},
        {2, 13, 0, MONITOR_PAYLOAD},
        {2, 1519, 0, MONITOR_PAYLOAD},
        {2, 14, 8, MONITOR_PAYLOAD},
        {ETHERNET_MAX_TRANSMIT_SLOT - 1, 14, 0, MONITOR_OK},
        {1, 14, 0, MONITOR_COOKIE},
        {~0ul, 14, 0, MONITOR_COOKIE},
        {ETHERNET_MAX_TRANSMIT_SLOT, 14, 0, MONITOR_COOKIE},
    };
    uint64_t open[MOST_WORDS + 1] = {0};
    struct monitor monitor;

    monitor_start(&monitor, &ethernet_protocol, open);
    CHECK(own_step(&monitor, ETHERNET_OPEN, 0, 0, 0, 1) == MONITOR_OK);
    CHECK(own_step(&monitor, ETHERNET_OPEN_OK, 0, 0, 0, 0) == MONITOR_OK);
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ethernet_transmit body = {0, cases[i].length, cases[i].offload};
        CHECK(own_step(&monitor, ETHERNET_TRANSMIT, cases[i].cookie, &body, sizeof body, 1) == cases[i].verdict);
    }
    CHECK(open[0] == 3 && open[ETHERNET_MAX_TRANSMIT_SLOT / 64 - 1] == 1ul << 63 &&
          open[ETHERNET_MAX_TRANSMIT_SLOT / 64] == 0);
    /* Not closed while a request is open. */
    CHECK(own_step(&monitor, ETHERNET_CLOSE, 0, 0, 0, 1) == MONITOR_OK);
    CHECK(own_step(&monitor, ETHERNET_CLOSE_OK, 0, 0, 0, 0) == MONITOR_DRAINED);
    for (uint32_t i = 0; i < 3; i++) {
        static const uint64_t opened[] = {0, 1, ETHERNET_MAX_TRANSMIT_SLOT - 1};
        struct ethernet_transmit_done body = {0};
        CHECK(own_step(&monitor, ETHERNET_TRANSMIT_DONE, opened[i], &body, sizeof body, 0) == MONITOR_OK);
        CHECK(own_step(&monitor, ETHERNET_TRANSMIT_DONE, opened[i], &body, sizeof body, 0) == MONITOR_COOKIE);
    }
    CHECK(own_step(&monitor, ETHERNET_CLOSE_OK, 0, 0, 0, 0) == MONITOR_OK);
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
    short_payload();
    boundaries();
    return 0;
}
