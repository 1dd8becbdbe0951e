/* The client's end of a TCP connection to an echo service: sends a stream whose bytes follow from their place in it, and
 * checks that the same stream comes back. */
#ifndef ASHLAR_TCP_H
#define ASHLAR_TCP_H

#include <stdint.h>

#include "ashlar/net.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"

#include "tcp_loss.h"

#define TCP_UNACKNOWLEDGED 8u /* segments taken before that is said, while more keep coming */
#define TCP_RETRY 200000000ul /* ns until everything not acknowledged is sent again */
#define TCP_RETRIES 50u

#define TCP_FIN 1u
#define TCP_SYN 2u
#define TCP_RST 4u
#define TCP_PSH 8u
#define TCP_ACK 16u

enum tcp_state { TCP_CONNECTING, TCP_STREAMING, TCP_DONE, TCP_FAILED };

struct tcp {
    enum tcp_state state;
    const char *failure;
    uint32_t host;
    uint16_t own_port;
    uint16_t port;
    uint32_t first; /* sequence number of the stream's first byte */
    uint32_t peer_first;
    uint64_t bytes; /* of the whole stream */
    uint64_t sent;  /* places in the stream: sent, acknowledged, received and checked */
    uint64_t acknowledged;
    uint64_t verified;
    uint32_t window; /* the peer's */
    struct tcp_pace pace;
    struct tcp_pieces ahead;   /* of the stream, checked, behind bytes that are missing */
    uint32_t must_acknowledge; /* segments since an acknowledgement was sent last */
    uint32_t is_asked;         /* for the connection; before, the peer's hardware address may have to be asked for */
    uint32_t retries;
    uint32_t sent_again; /* segments, but of those behind a pause only the first */
    uint64_t deadline;
};

/* The stream repeats this. Its length is a prime, so that no buffer of another place in the stream, a multiple of segments or
 * pages away, holds the same by chance; and a segment more stands behind it. */
#define TCP_PERIOD 65521u
static uint8_t tcp_pattern[TCP_PERIOD + TCP_SEGMENT];

static inline void tcp_make_pattern(void)
{
    for (uint32_t i = 0; i < sizeof tcp_pattern; i++) {
        uint32_t place = i % TCP_PERIOD;
        tcp_pattern[i] = (uint8_t)(place * 167 + (place >> 8) * 13);
    }
}

/* A segment of the stream. */
static inline const uint8_t *tcp_bytes(uint64_t place)
{
    return tcp_pattern + place % TCP_PERIOD;
}

static inline void tcp_fail(struct tcp *tcp, const char *why)
{
    tcp->state = TCP_FAILED;
    tcp->failure = why;
}

static inline int tcp_is_over(const struct tcp *tcp)
{
    return tcp->state == TCP_DONE || tcp->state == TCP_FAILED;
}

static inline uint32_t tcp_peer_next(const struct tcp *tcp)
{
    return tcp->peer_first + (uint32_t)tcp->verified;
}

/* Sends one segment: `bytes` of the stream from `place`. Returns 0 if it could not go out now. */
static inline int tcp_send(struct tcp *tcp, uint8_t flags, uint32_t sequence, uint64_t place, uint32_t bytes)
{
    uint8_t *segment = net_buffer();

    if (segment == 0) {
        return 0;
    }
    memset(segment, 0, TCP_HEADER);
    net_put16(segment, tcp->own_port);
    net_put16(segment + 2, tcp->port);
    net_put32(segment + 4, sequence);
    net_put32(segment + 8, (flags & TCP_ACK) != 0 ? tcp_peer_next(tcp) : 0);
    segment[12] = TCP_HEADER / 4 << 4;
    segment[13] = flags;
    net_put16(segment + 14, TCP_WINDOW);
    memcpy(segment + TCP_HEADER, tcp_bytes(place), bytes);
    return net_send(tcp->host, NET_TCP, TCP_HEADER + bytes, NET_INSERT_TCP);
}

static inline void tcp_ask(struct tcp *tcp)
{
    tcp->is_asked = (uint32_t)tcp_send(tcp, TCP_SYN, tcp->first - 1, 0, 0);
}

static inline void tcp_open(struct tcp *tcp, uint32_t host, uint16_t port, uint64_t bytes)
{
    static uint16_t own_port = 49152;

    memset(tcp, 0, sizeof *tcp);
    if (own_port == 49152) {
        tcp_make_pattern();
    }
    own_port = own_port == 65535 ? 49152 : own_port + 1;
    tcp->host = host;
    tcp->own_port = own_port;
    tcp->port = port;
    tcp->first = (uint32_t)sys_clock();
    tcp->bytes = bytes;
    tcp_pace_begin(&tcp->pace);
    tcp_ask(tcp);
    tcp->deadline = sys_clock() + TCP_RETRY;
}

/* An acknowledgement without data: only such a one tells the peer, when it comes again, that something is missing. */
static inline void tcp_acknowledge(struct tcp *tcp)
{
    uint64_t next = tcp->sent < tcp->pace.highest ? tcp->pace.highest : tcp->sent;

    tcp->must_acknowledge = TCP_UNACKNOWLEDGED;
    if (tcp_send(tcp, TCP_ACK, tcp->first + (uint32_t)next, 0, 0)) {
        tcp->must_acknowledge = 0;
    }
}

/* The first segment that is not acknowledged is sent again. */
static inline void tcp_send_again(struct tcp *tcp)
{
    uint64_t left = tcp->sent - tcp->acknowledged;

    if (tcp_send(tcp, TCP_ACK | TCP_PSH, tcp->first + (uint32_t)tcp->acknowledged, tcp->acknowledged,
                 left < TCP_SEGMENT ? (uint32_t)left : TCP_SEGMENT)) {
        tcp->sent_again++;
    }
}

/* Sends what window and pace allow, and an acknowledgement if one is due and nothing else has carried it: `at_once`, because
 * nothing else has come. */
static inline void tcp_fill(struct tcp *tcp, uint32_t at_once)
{
    uint64_t limit = tcp->acknowledged + (tcp->window < tcp->pace.most ? tcp->window : tcp->pace.most);

    limit = limit < tcp->bytes ? limit : tcp->bytes;
    while (tcp->sent < limit) {
        uint64_t left = limit - tcp->sent;
        uint32_t bytes = left < TCP_SEGMENT ? (uint32_t)left : TCP_SEGMENT;
        if (bytes < TCP_SEGMENT && tcp->sent + bytes < tcp->bytes && tcp->sent > tcp->acknowledged) {
            break; /* no small segments while others are under way */
        }
        if (!tcp_send(tcp, TCP_ACK | TCP_PSH, tcp->first + (uint32_t)tcp->sent, tcp->sent, bytes)) {
            break;
        }
        tcp->sent += bytes;
        tcp->must_acknowledge = 0;
    }
    if (tcp->must_acknowledge >= TCP_UNACKNOWLEDGED || (at_once && tcp->must_acknowledge != 0)) {
        tcp_acknowledge(tcp);
    }
}

/* `is_alone`: the segment carries nothing else. */
static inline void tcp_take_acknowledgement(struct tcp *tcp, uint32_t number, uint32_t is_alone)
{
    uint32_t more = number - (tcp->first + (uint32_t)tcp->acknowledged);
    uint32_t is_lost = 0;

    if (more != 0 && more <= tcp->bytes - tcp->acknowledged) {
        tcp->acknowledged += more;
        tcp->sent = tcp->sent < tcp->acknowledged ? tcp->acknowledged : tcp->sent;
        tcp->retries = 0;
        tcp->deadline = sys_clock() + TCP_RETRY;
        is_lost = tcp_pace_advance(&tcp->pace, tcp->acknowledged, more);
    } else if (more == 0 && is_alone) {
        is_lost = tcp_pace_repeat(&tcp->pace, tcp->acknowledged, tcp->sent);
    }
    if (is_lost && tcp->sent > tcp->acknowledged) {
        tcp_send_again(tcp);
    }
}

/* Bytes of the stream. What is ahead of bytes that are missing is checked and noted, and the missing ones are asked for by an
 * acknowledgement at once, as it is when bytes come twice. */
static inline void tcp_take_bytes(struct tcp *tcp, uint32_t sequence, const uint8_t *bytes, uint32_t count)
{
    uint32_t ahead = sequence - tcp_peer_next(tcp);
    uint32_t known = ahead < TCP_WINDOW ? 0 : 0u - ahead;
    uint64_t place = tcp->verified + (ahead < TCP_WINDOW ? ahead : 0);

    if (known >= count) {
        tcp_acknowledge(tcp);
        return;
    }
    if (count - known > TCP_SEGMENT || memcmp(bytes + known, tcp_bytes(place), count - known) != 0) {
        tcp_fail(tcp, "a byte came back changed");
        return;
    }
    tcp_pieces_add(&tcp->ahead, place, place + (count - known));
    uint64_t next = tcp_pieces_take(&tcp->ahead, tcp->verified);
    if (next != tcp->verified) {
        tcp->verified = next;
        tcp->retries = 0;
        tcp->deadline = sys_clock() + TCP_RETRY;
    }
    tcp->must_acknowledge++;
    if (tcp->ahead.count != 0) {
        tcp_acknowledge(tcp);
    }
}

static inline void tcp_receive(struct tcp *tcp)
{
    const uint8_t *segment = net_packet.payload;
    uint32_t header = net_packet.bytes < TCP_HEADER ? TCP_HEADER : (uint32_t)(segment[12] >> 4) * 4;

    if (net_packet.from != tcp->host || net_packet.protocol != NET_TCP || net_packet.bytes < header ||
        header < TCP_HEADER || net_get16(segment) != tcp->port || net_get16(segment + 2) != tcp->own_port) {
        return;
    }
    uint8_t flags = segment[13];
    uint32_t sequence = net_get32(segment + 4);
    uint32_t number = net_get32(segment + 8);
    if ((flags & TCP_RST) != 0) {
        tcp_fail(tcp, "the peer has reset the connection");
        return;
    }
    uint32_t had_window = tcp->window;
    tcp->window = net_get16(segment + 14);
    if (tcp->state == TCP_CONNECTING) {
        if ((flags & (TCP_SYN | TCP_ACK)) == (TCP_SYN | TCP_ACK) && number == tcp->first) {
            tcp->peer_first = sequence + 1;
            tcp->state = TCP_STREAMING;
            tcp->must_acknowledge = TCP_UNACKNOWLEDGED;
            tcp->deadline = sys_clock() + TCP_RETRY;
        }
        return;
    }
    tcp_take_acknowledgement(tcp, number, net_packet.bytes == header && tcp->window == had_window);
    if (net_packet.bytes > header) {
        tcp_take_bytes(tcp, sequence, segment + header, net_packet.bytes - header);
    }
    if (tcp->state == TCP_STREAMING && (flags & TCP_FIN) != 0) {
        tcp_fail(tcp, "the peer has closed the connection");
    }
}

/* Nothing has moved for a while: what is not acknowledged is sent again, one segment first. */
static inline void tcp_retry(struct tcp *tcp)
{
    tcp->retries++;
    tcp->deadline = sys_clock() + TCP_RETRY;
    if (tcp->retries > TCP_RETRIES) {
        tcp_fail(tcp, "the peer does not answer");
    } else if (tcp->state == TCP_CONNECTING) {
        tcp_ask(tcp);
    } else {
        tcp->sent_again += tcp->sent > tcp->acknowledged;
        tcp_pace_stop(&tcp->pace, tcp->acknowledged, tcp->sent);
        tcp->sent = tcp->acknowledged;
        tcp_acknowledge(tcp);
    }
}

/* One event: what came is taken in, what can be sent is sent. */
static inline void tcp_work(struct tcp *tcp)
{
    enum net_event event = net_wait(tcp->must_acknowledge != 0 ? 0 : tcp->deadline);

    if (event == NET_PACKET) {
        tcp_receive(tcp);
    } else if (event == NET_CHANGED && !net_is_up()) {
        tcp_fail(tcp, "the network is down");
    }
    if (!tcp_is_over(tcp) && sys_clock() >= tcp->deadline) {
        tcp_retry(tcp);
    }
    if (tcp->state == TCP_CONNECTING && !tcp->is_asked && net_knows(tcp->host)) {
        tcp_ask(tcp);
    }
    if (tcp->state == TCP_STREAMING) {
        tcp_fill(tcp, event == NET_TIMEOUT);
        if (tcp->verified == tcp->bytes && tcp->acknowledged == tcp->bytes) {
            tcp->state = TCP_DONE;
            tcp_send(tcp, TCP_RST | TCP_ACK, tcp->first + (uint32_t)tcp->sent, 0, 0);
        }
    }
}

#endif
