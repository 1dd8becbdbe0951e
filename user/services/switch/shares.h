/* Who may use how much of the switch. Each source of frames, a client or the uplink, has a weight.
 *
 * The time of the switch goes round: in its turn a source may have so much work done as its weight gives it, and what it sends
 * beyond waits at its own port (`struct work`). Of the buffers of each receiver a few are set aside for each source by its
 * weight: that many of its frames are never lost, whatever others send. The rest are shared as they come (`struct room`). */
#ifndef SWITCH_SHARES_H
#define SWITCH_SHARES_H

#include <stdint.h>

#define SHARE_SOURCES 9u
/* Buffers of a receiver that are set aside, of all sources together. While frames wait, receivers lend buffers again some at a time
 * (`ashlar/net.h` 16), so of three equal sources each has those that wait for that, and eight frames on their way; and when none waits,
 * all: else a source with a small share would have none left, and others nothing to send for which they come again. */
#define SHARE_RESERVED 72u
#define SHARE_FRAMES 256u /* buffers that a receiver lends at most */

/* Of a turn, for each unit of weight: enough for the dearest frame, one of 1514 bytes to all others. */
#define WORK_TURN 40960u
/* What a frame costs beside its bytes, and for each receiver: as much as so many bytes. Counted: the messages about a frame of 256
 * bytes to one receiver take 2,100 instructions of switch and kernel, of which copying it is 80. */
#define WORK_FRAME 3072u

struct shares {
    uint32_t weight[SHARE_SOURCES]; /* 0: there is no such source */
    uint32_t sum;
};

/* ---- work ---- */

struct work {
    uint32_t credit[SHARE_SOURCES];
};

static inline uint32_t work_of(uint32_t bytes, uint32_t receivers)
{
    return WORK_FRAME + receivers * (WORK_FRAME + bytes);
}

/* The turn of a source begins. */
static inline void work_begin(struct work *work, const struct shares *shares, uint32_t source)
{
    work->credit[source] += WORK_TURN * shares->weight[source];
}

/* Returns 0, and ends the turn, if the source has not enough left: its frame waits for the next one. */
static inline uint32_t work_spend(struct work *work, uint32_t source, uint32_t cost)
{
    if (work->credit[source] < cost) {
        return 0;
    }
    work->credit[source] -= cost;
    return 1;
}

/* The source has no more frames: what is left is not saved. */
static inline void work_end(struct work *work, uint32_t source)
{
    work->credit[source] = 0;
}

/* ---- buffers of one receiver ---- */

struct room {
    uint32_t reserved[SHARE_SOURCES];
    uint32_t used[SHARE_SOURCES]; /* by frames that the receiver has */
    uint32_t free;                /* for any source */
    uint32_t turn; /* the source for which the next buffer is set aside, and how many more in this turn */
    uint32_t left;
    uint32_t oldest, num_given; /* frames that the receiver has, in their order */
    uint8_t given[SHARE_FRAMES];
};

/* So many are set aside for a source at most. */
static inline uint32_t room_limit(const struct shares *shares, uint32_t source)
{
    uint32_t limit = SHARE_RESERVED * shares->weight[source] / (shares->sum != 0 ? shares->sum : 1);
    return limit == 0 && shares->weight[source] != 0 ? 1 : limit;
}

static inline uint32_t room_sum(const struct room *room)
{
    uint32_t sum = room->free;
    for (uint32_t i = 0; i < SHARE_SOURCES; i++) {
        sum += room->reserved[i];
    }
    return sum;
}

/* For the next source that lacks one, by weight. Nothing is set aside for the receiver itself. */
static inline void room_add(struct room *room, const struct shares *shares, uint32_t receiver)
{
    for (uint32_t tries = 0; tries <= SHARE_SOURCES; tries++) {
        if (room->left != 0 && room->turn != receiver && room->reserved[room->turn] < room_limit(shares, room->turn)) {
            room->left--;
            room->reserved[room->turn]++;
            return;
        }
        room->turn = (room->turn + 1) % SHARE_SOURCES;
        room->left = shares->weight[room->turn];
    }
    room->free++;
}

/* One more buffer. If the receiver has frames, it is taken for that of the oldest: it goes to that frame's source as long as this
 * has no more than what is set aside for it, else to the next in turn, so that sources that all want more get it by weight. */
static inline void room_return(struct room *room, const struct shares *shares, uint32_t receiver)
{
    if (room->num_given != 0) {
        uint32_t source = room->given[room->oldest % SHARE_FRAMES];
        room->oldest++;
        room->num_given--;
        room->used[source]--;
        if (room->reserved[source] + room->used[source] < room_limit(shares, source)) {
            room->reserved[source]++;
            return;
        }
    }
    room_add(room, shares, receiver);
}

/* The receiver has lent `buffers` now, SHARE_FRAMES at most; fewer than are known of only if it has begun anew. */
static inline void room_fill(struct room *room, const struct shares *shares, uint32_t receiver, uint32_t buffers)
{
    uint32_t known = room_sum(room);

    if (buffers < known) {
        *room = (struct room){.turn = room->turn};
        known = 0;
    }
    for (; known < buffers; known++) {
        room_return(room, shares, receiver);
    }
}

/* Takes one for a frame of `source`. Returns 0 if there is none for it. */
static inline uint32_t room_take(struct room *room, uint32_t source)
{
    if (room->reserved[source] != 0) {
        room->reserved[source]--;
    } else if (room->free != 0) {
        room->free--;
    } else {
        return 0;
    }
    room->used[source]++;
    room->given[(room->oldest + room->num_given) % SHARE_FRAMES] = (uint8_t)source;
    room->num_given++;
    return 1;
}

#endif
