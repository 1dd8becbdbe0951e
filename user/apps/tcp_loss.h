/* What a TCP connection keeps because segments are lost: what has come ahead of missing ones, and how much may be under way, after
 * RFC 5681 and RFC 6582. Places are bytes from the stream's first. */
#ifndef ASHLAR_TCP_LOSS_H
#define ASHLAR_TCP_LOSS_H

#include <stdint.h>

#include "ashlar/net.h"

#define TCP_HEADER 20u
#define TCP_SEGMENT (NET_MTU - NET_IP_HEADER - TCP_HEADER)
#define TCP_WINDOW 65535u /* bytes under way at most, each way */

/* ---- what has come ---- */

/* Pieces with gaps between them, each of a segment at least, in one window: but for what a peer does that sends smaller ones. */
#define TCP_PIECES 24u

struct tcp_pieces {
    uint32_t count;
    struct {
        uint64_t from, to; /* without `to` */
    } piece[TCP_PIECES];   /* rising; no two touch */
};

/* Notes that these bytes have come. If there are too many pieces they are forgotten: the peer sends them again. */
static inline void tcp_pieces_add(struct tcp_pieces *pieces, uint64_t from, uint64_t to)
{
    uint32_t first = 0; /* the first that touches, and how many do */
    uint32_t num = 0;

    while (first < pieces->count && pieces->piece[first].to < from) {
        first++;
    }
    while (first + num < pieces->count && pieces->piece[first + num].from <= to) {
        from = pieces->piece[first + num].from < from ? pieces->piece[first + num].from : from;
        to = pieces->piece[first + num].to > to ? pieces->piece[first + num].to : to;
        num++;
    }
    if (num == 0) {
        if (pieces->count == TCP_PIECES) {
            return;
        }
        for (uint32_t i = pieces->count; i > first; i--) {
            pieces->piece[i] = pieces->piece[i - 1];
        }
    } else {
        for (uint32_t i = first + 1; i + num - 1 < pieces->count; i++) {
            pieces->piece[i] = pieces->piece[i + num - 1];
        }
    }
    pieces->count = pieces->count + 1 - num;
    pieces->piece[first].from = from;
    pieces->piece[first].to = to;
}

/* Takes out the piece that begins at `next`, or before. Returns the place behind it, or `next`. */
static inline uint64_t tcp_pieces_take(struct tcp_pieces *pieces, uint64_t next)
{
    if (pieces->count == 0 || pieces->piece[0].from > next) {
        return next;
    }
    uint64_t to = pieces->piece[0].to;
    pieces->count--;
    for (uint32_t i = 0; i < pieces->count; i++) {
        pieces->piece[i] = pieces->piece[i + 1];
    }
    return to > next ? to : next;
}

/* ---- what is sent ---- */

#define TCP_FIRST_SEGMENTS 10u
#define TCP_REPEATS 3u /* acknowledgements of the same place, which say that the segment there is lost */

struct tcp_pace {
    uint32_t most;       /* bytes that may be under way */
    uint32_t threshold;  /* up to which `most` grows by what is acknowledged, and slower behind it */
    uint32_t repeats;    /* of the last acknowledgement */
    uint32_t is_mending; /* segments that are missing are sent again one by one, up to `highest` */
    uint64_t highest;    /* place up to which was sent when something was lost last */
};

static inline void tcp_pace_begin(struct tcp_pace *pace)
{
    *pace = (struct tcp_pace){.most = TCP_FIRST_SEGMENTS * TCP_SEGMENT, .threshold = TCP_WINDOW};
}

static inline void tcp_pace_halve(struct tcp_pace *pace, uint64_t under_way)
{
    pace->threshold = under_way / 2 < 2 * TCP_SEGMENT ? 2 * TCP_SEGMENT : (uint32_t)(under_way / 2);
}

/* `more` bytes are acknowledged, up to `acknowledged`. Returns 1 if the segment there is lost too. */
static inline uint32_t tcp_pace_advance(struct tcp_pace *pace, uint64_t acknowledged, uint32_t more)
{
    pace->repeats = 0;
    if (pace->is_mending && acknowledged < pace->highest) {
        return 1;
    }
    pace->is_mending = 0;
    if (pace->most < pace->threshold) {
        pace->most += more;
    } else {
        pace->most += (uint32_t)((uint64_t)TCP_SEGMENT * more / pace->most);
    }
    pace->most = pace->most < TCP_WINDOW ? pace->most : TCP_WINDOW;
    return 0;
}

/* The same is acknowledged once more, while bytes up to `sent` are under way. Returns 1 if the segment there is lost. */
static inline uint32_t tcp_pace_repeat(struct tcp_pace *pace, uint64_t acknowledged, uint64_t sent)
{
    pace->repeats++;
    if (pace->repeats != TCP_REPEATS || sent == acknowledged || acknowledged < pace->highest) {
        return 0;
    }
    tcp_pace_halve(pace, sent - acknowledged);
    pace->most = pace->threshold;
    pace->highest = sent;
    pace->is_mending = 1;
    return 1;
}

/* No acknowledgement has come for a while. */
static inline void tcp_pace_stop(struct tcp_pace *pace, uint64_t acknowledged, uint64_t sent)
{
    if (sent > acknowledged) {
        tcp_pace_halve(pace, sent - acknowledged);
        pace->most = TCP_SEGMENT;
    }
    pace->highest = sent > pace->highest ? sent : pace->highest;
    pace->repeats = 0;
    pace->is_mending = 0;
}

#endif
