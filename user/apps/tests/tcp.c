/* The client's end of a TCP connection against an echo service over a link that loses segments, one by one and all for a while. The
 * service is this test's own: it keeps what comes out of order, and sends again after three repeated acknowledgements without data, or after
 * a second without any, then two, as BSD's did. Time is counted, not passed. */
#include <stdint.h>

#include "ashlar/syscall.h"

static uint64_t counted_clock(void);
#define sys_clock counted_clock
#include "../tcp.h"

#include "../../libc/tests/check.h"

#define MILLISECOND 1000000ul
#define SECOND (1000 * MILLISECOND)
#define STREAM (1u << 20)
#define ON_THE_WAY 128u /* segments in each direction; more are lost */
#define LONGEST (TCP_HEADER + TCP_SEGMENT)
#define DELAY MILLISECOND
#define HOST NET_ADDRESS(10, 0, 2, 100)

/* ---- the link ---- */

struct direction {
    struct {
        uint64_t at;
        uint32_t bytes;
        uint8_t segment[LONGEST];
    } entry[ON_THE_WAY];
    uint32_t first, count;
};

static struct direction to_service, to_client;
static uint64_t clock_ns = SECOND, random_state;
static uint32_t loss;         /* of 1,000 segments */
static uint64_t dark, bright; /* everything is lost from the first moment to the second */
static uint32_t change;       /* this segment of the service has a byte changed; 0: none */

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 6364136223846793005ul + 1442695040888963407ul;
    return (uint32_t)(random_state >> 33) % limit;
}

static void put(struct direction *direction, const uint8_t *segment, uint32_t bytes)
{
    if (direction->count == ON_THE_WAY || random_below(1000) < loss || (clock_ns >= dark && clock_ns < bright)) {
        return;
    }
    uint32_t last = (direction->first + direction->count) % ON_THE_WAY;
    direction->count++;
    direction->entry[last].at = clock_ns + DELAY;
    direction->entry[last].bytes = bytes;
    memcpy(direction->entry[last].segment, segment, bytes);
}

/* The segment that has arrived, or null; it stays until something is put there. */
static const uint8_t *get(struct direction *direction, uint32_t *bytes)
{
    if (direction->count == 0 || direction->entry[direction->first].at > clock_ns) {
        return 0;
    }
    uint32_t first = direction->first;
    direction->first = (first + 1) % ON_THE_WAY;
    direction->count--;
    *bytes = direction->entry[first].bytes;
    return direction->entry[first].segment;
}

/* ---- the service ---- */

#define SERVICE_FIRST 0xfffff000u /* sequence numbers pass zero */

static struct {
    uint8_t byte[STREAM], has[STREAM];
    uint32_t client_first;
    uint32_t next; /* places: what comes next, what is sent and acknowledged, sent at all */
    uint32_t sent, acknowledged, highest;
    uint32_t most, threshold, repeats;
    uint64_t deadline, patience;
    uint32_t num_segments;
    uint16_t port;
} service;

static void service_emit(uint32_t flags, uint32_t place, uint32_t bytes)
{
    uint8_t segment[LONGEST] = {0};

    net_put16(segment, 7);
    net_put16(segment + 2, service.port);
    net_put32(segment + 4, SERVICE_FIRST + place - ((flags & TCP_SYN) != 0));
    net_put32(segment + 8, service.client_first + service.next);
    segment[12] = TCP_HEADER / 4 << 4;
    segment[13] = (uint8_t)flags;
    net_put16(segment + 14, 65535);
    memcpy(segment + TCP_HEADER, service.byte + place, bytes);
    service.num_segments += bytes != 0;
    if (bytes != 0 && service.num_segments == change) {
        segment[TCP_HEADER] ^= 1;
    }
    put(&to_client, segment, TCP_HEADER + bytes);
}

static uint32_t service_fill(void)
{
    uint32_t limit = service.acknowledged + (service.most < 65535 ? service.most : 65535);
    uint32_t num = 0;

    limit = limit < service.next ? limit : service.next;
    while (service.sent < limit) {
        uint32_t bytes = limit - service.sent < TCP_SEGMENT ? limit - service.sent : TCP_SEGMENT;
        service_emit(TCP_ACK, service.sent, bytes);
        service.sent += bytes;
        num++;
    }
    service.highest = service.sent > service.highest ? service.sent : service.highest;
    if (service.deadline == 0 && service.sent > service.acknowledged) {
        service.deadline = clock_ns + service.patience;
    }
    return num;
}

static void service_lost(uint32_t most)
{
    uint32_t half = (service.sent - service.acknowledged) / 2;

    service.threshold = half < 2 * TCP_SEGMENT ? 2 * TCP_SEGMENT : half;
    service.most = most;
}

static void service_acknowledged(uint32_t place, uint32_t is_alone)
{
    if (place > service.acknowledged && place <= service.highest) {
        service.most += service.most < service.threshold ? TCP_SEGMENT : TCP_SEGMENT * TCP_SEGMENT / service.most;
        service.acknowledged = place;
        service.sent = service.sent < place ? place : service.sent;
        service.repeats = 0;
        service.patience = SECOND;
        service.deadline = service.sent > place ? clock_ns + SECOND : 0;
    } else if (place == service.acknowledged && is_alone && service.sent > place) {
        service.repeats++;
        if (service.repeats == 3) {
            uint32_t left = service.sent - place;
            service_lost(service.threshold);
            service.most = service.threshold;
            service_emit(TCP_ACK, place, left < TCP_SEGMENT ? left : TCP_SEGMENT);
        }
    } else {
        service.repeats = 0;
    }
}

static void service_take(const uint8_t *segment, uint32_t bytes)
{
    uint32_t place = net_get32(segment + 4) - service.client_first;
    uint32_t count = bytes - TCP_HEADER;
    uint32_t had = service.next;

    if ((segment[13] & TCP_SYN) != 0) {
        memset(&service, 0, sizeof service);
        service.client_first = net_get32(segment + 4) + 1;
        service.port = (uint16_t)net_get16(segment);
        service.most = 2 * TCP_SEGMENT;
        service.threshold = 65535;
        service.patience = SECOND;
        service_emit(TCP_SYN | TCP_ACK, 0, 0);
        return;
    }
    if ((segment[13] & TCP_RST) != 0) {
        return;
    }
    service_acknowledged(net_get32(segment + 8) - SERVICE_FIRST, count == 0);
    CHECK(place + count <= STREAM && place + count >= place);
    for (uint32_t i = 0; i < count; i++) {
        CHECK(!service.has[place + i] || service.byte[place + i] == segment[TCP_HEADER + i]);
        service.has[place + i] = 1;
        service.byte[place + i] = segment[TCP_HEADER + i];
    }
    while (service.next < STREAM && service.has[service.next]) {
        service.next++;
    }
    if (service_fill() == 0 && count != 0) {
        service_emit(TCP_ACK, service.sent, 0);
    } else if (count != 0 && service.next == had) {
        service_emit(TCP_ACK, service.sent, 0); /* out of order, or known: said at once, without data */
    }
}

static void service_work(void)
{
    const uint8_t *segment;
    uint32_t bytes;

    while ((segment = get(&to_service, &bytes)) != 0) {
        service_take(segment, bytes);
    }
    if (service.deadline != 0 && clock_ns >= service.deadline) {
        service_lost(TCP_SEGMENT);
        service.sent = service.acknowledged;
        service.repeats = 0;
        service.patience = 2 * service.patience;
        service.deadline = 0;
        service_fill();
    }
}

/* ---- what the client calls ---- */

struct net_packet net_packet;
static uint8_t buffer[LONGEST];

static uint64_t counted_clock(void)
{
    return clock_ns;
}

uint8_t *net_buffer(void)
{
    return buffer;
}

int net_is_up(void)
{
    return 1;
}

int net_knows(uint32_t address)
{
    return address == HOST;
}

int net_send(uint32_t to, uint8_t protocol, uint32_t bytes, uint16_t offload)
{
    CHECK(to == HOST && protocol == NET_TCP && offload == NET_INSERT_TCP && bytes <= LONGEST);
    put(&to_service, buffer, bytes);
    return 1;
}

enum net_event net_wait(uint64_t deadline)
{
    for (;;) {
        service_work();
        net_packet.payload = get(&to_client, &net_packet.bytes);
        if (net_packet.payload != 0) {
            net_packet.from = HOST;
            net_packet.protocol = NET_TCP;
            return NET_PACKET;
        }
        if (clock_ns >= deadline) {
            return NET_TIMEOUT;
        }
        clock_ns += MILLISECOND / 10;
    }
}

/* ---- the cases ---- */

/* Returns the milliseconds that the stream took. */
static uint64_t stream(struct tcp *tcp, uint64_t seed, uint32_t segments_lost)
{
    uint64_t begin = clock_ns;

    random_state = seed;
    loss = segments_lost;
    to_service.count = to_client.count = 0;
    tcp_open(tcp, HOST, 7, STREAM);
    while (!tcp_is_over(tcp)) {
        tcp_work(tcp);
    }
    return (clock_ns - begin) / MILLISECOND;
}

/* Requires that the stream comes back in time, and that the service has what was sent. */
static void whole_stream(uint64_t seed, uint32_t segments_lost, uint64_t most_milliseconds)
{
    struct tcp tcp;
    uint64_t milliseconds = stream(&tcp, seed, segments_lost);

    CHECK(tcp.state == TCP_DONE && tcp.verified == STREAM && service.next == STREAM);
    for (uint32_t i = 0; i < STREAM; i++) {
        CHECK(service.byte[i] == *tcp_bytes(i));
    }
    if (milliseconds > most_milliseconds) {
        printf("%u of 1,000 segments lost, seed %lu: %lu ms\n", segments_lost, seed, milliseconds);
    }
    CHECK(milliseconds <= most_milliseconds);
}

static void pieces(void)
{
    struct tcp_pieces p = {0};

    tcp_pieces_add(&p, 10, 20);
    tcp_pieces_add(&p, 40, 50);
    tcp_pieces_add(&p, 30, 35);
    CHECK(p.count == 3 && p.piece[1].from == 30 && p.piece[2].to == 50);
    CHECK(tcp_pieces_take(&p, 5) == 5 && p.count == 3);
    tcp_pieces_add(&p, 15, 32);
    CHECK(p.count == 2 && p.piece[0].from == 10 && p.piece[0].to == 35 && p.piece[1].from == 40);
    tcp_pieces_add(&p, 35, 40);
    CHECK(p.count == 1 && p.piece[0].to == 50);
    CHECK(tcp_pieces_take(&p, 10) == 50 && p.count == 0 && tcp_pieces_take(&p, 50) == 50);
    for (uint64_t i = 0; i <= TCP_PIECES; i++) {
        tcp_pieces_add(&p, 10 * i, 10 * i + 1);
    }
    CHECK(p.count == TCP_PIECES && p.piece[TCP_PIECES - 1].from == 10 * (TCP_PIECES - 1));
}

int main(void)
{
    pieces();
    whole_stream(1, 0, 100);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        whole_stream(seed, 10, 6000);
        whole_stream(seed, 50, 25000);
        dark = clock_ns + 20 * MILLISECOND + random_below(100) * MILLISECOND;
        bright = dark + 1500 * MILLISECOND;
        whole_stream(seed, 5, 8000);
    }
    struct tcp tcp;
    change = 300;
    stream(&tcp, 1, 10);
    CHECK(tcp.state == TCP_FAILED && strcmp(tcp.failure, "a byte came back changed") == 0);
    change = 0;
    stream(&tcp, 1, 1000);
    CHECK(tcp.state == TCP_FAILED && strcmp(tcp.failure, "the peer does not answer") == 0);
    return 0;
}
