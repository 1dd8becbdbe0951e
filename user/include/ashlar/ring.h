/* A ring of messages in memory that two processes share: one, the producer, puts messages in, the other, the consumer,
 * takes them out. Neither trusts the other: each keeps its own index to itself and writes a copy for the other to read;
 * a copy that makes no sense breaks this ring and nothing else.
 *
 * The wake-up protocol: before the consumer waits for a signal it sets `sleeping` and looks once more; after the producer
 * has put something in it looks at `sleeping`, and if it is set, clears it and signals. Each side writes its own word and
 * then reads the other's. A processor may let the read overtake the write (x86 keeps writes in a store buffer), and then
 * both could miss each other: so a fence, or an exchange that is one, stands between. A signal is kept until it is
 * waited for. runtime/tests/model runs these very functions through every interleaving, with store buffers.
 *
 * Counts are written seldom. What the producer has put in the consumer sees once it is published: when the producer awaits,
 * at the latest. What the consumer has taken out the producer sees once the consumer has taken all that it knew of, which are
 * at most RING_BATCH messages. So a ring has room for that many more than its protocol allows to be under way. */
#ifndef ASHLAR_RING_H
#define ASHLAR_RING_H

#include <stdint.h>

#define MAIL_PAYLOAD 40u
#define RING_BATCH 16u
#define RING_NEXT (1ul << 32) /* from a message's first word to that of the next one with the same mailbox */

/* A message: one cache line. */
struct mail {
    uint32_t mailbox;  /* protocol number << 8 | message number */
    uint32_t sequence; /* of the ring; so what is lost, doubled or out of order shows */
    uint64_t cookie;
    uint64_t spare;
    uint8_t payload[MAIL_PAYLOAD];
};

/* The words that both sides see. Counts are modulo 2^32, as sequence numbers are. */
struct ring_shared {
    _Alignas(64) uint64_t tail; /* written by the producer: messages ever published */
    _Alignas(64) uint64_t head; /* written by the consumer: messages ever taken out, as the producer may know */
    uint64_t sleeping;          /* set by the consumer, cleared by either */
};

#ifndef RING_MODEL
/* How shared words are touched. The model puts its own in the place of these. */
#define RING_LOAD(place) __atomic_load_n((place), __ATOMIC_ACQUIRE)
#define RING_STORE(place, value) __atomic_store_n((place), (value), __ATOMIC_RELEASE)
#define RING_EXCHANGE(place, value) __atomic_exchange_n((place), (value), __ATOMIC_SEQ_CST)
#define RING_FENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
/* Words of a message, each read or written once: the other side may change them at any moment. */
#define RING_READ(place) __atomic_load_n((place), __ATOMIC_RELAXED)
#define RING_WRITE(place, value) __atomic_store_n((place), (value), __ATOMIC_RELAXED)
#endif

/* Messages from `at` up to `end` lie one behind the other: neither end of the ring is between them. */
struct ring_producer {
    struct mail *at;  /* where the next message goes */
    struct mail *end; /* no room is known from here on */
    uint64_t
        first; /* the next message's first word, if its mailbox were message 0's: its sequence number is the count */
    struct ring_shared *shared;
    struct mail *slot;
    uint32_t mask; /* slots - 1; their number is a power of two, and at least four */
};

struct ring_consumer {
    const struct mail *at;  /* the next message */
    const struct mail *end; /* none is known from here on */
    uint64_t first;         /* as the producer's */
    struct ring_shared *shared;
    const struct mail *slot;
    uint32_t mask;
    uint32_t batch;     /* messages that are taken before their count is written, at most: RING_BATCH */
    uint32_t published; /* the count as last written */
    uint32_t is_broken;
};

/* Messages ever put in, or taken out. */
static inline uint32_t ring_count(uint64_t first)
{
    return (uint32_t)(first >> 32);
}

static inline uint32_t ring_least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* The first word of a message. */
static inline uint64_t *ring_word(const struct mail *mail)
{
    return (uint64_t *)&mail->mailbox;
}

/* Looks for room at the producer's end. Returns 0 if the ring is full, or the consumer's count makes no sense. */
static inline int ring_find_room(struct ring_producer *ring)
{
    uint32_t tail = ring_count(ring->first);
    uint32_t used = tail - (uint32_t)RING_LOAD(&ring->shared->head);
    uint32_t index = tail & ring->mask;

    if (used > ring->mask) {
        return 0;
    }
    ring->at = &ring->slot[index];
    ring->end = ring->at + ring_least(ring->mask + 1 - used, ring->mask + 1 - index);
    return 1;
}

/* Writes the next message, but for its payload, whose place is returned. Requires: there is room. */
static inline uint8_t *ring_put(struct ring_producer *ring, uint32_t message, uint64_t cookie)
{
    struct mail *mail = ring->at;

    RING_WRITE(ring_word(mail), ring->first + message);
    RING_WRITE(&mail->cookie, cookie);
    ring->first += RING_NEXT;
    ring->at = mail + 1;
    return mail->payload;
}

/* Lets the consumer see what was put in. Returns 0 if it certainly needs no signal: else ring_wake() is to be asked. */
static inline int ring_publish(struct ring_producer *ring)
{
    RING_STORE(&ring->shared->tail, ring_count(ring->first));
    RING_FENCE();
    return RING_LOAD(&ring->shared->sleeping) != 0;
}

/* 1 if the consumer must be signalled now. */
static inline int ring_wake(struct ring_producer *ring)
{
    return RING_EXCHANGE(&ring->shared->sleeping, 0) != 0;
}

/* Looks for messages behind those that are known, all of which are taken. Returns 0 if there are none. */
static inline int ring_find_mail(struct ring_consumer *ring)
{
    uint32_t head = ring_count(ring->first);

    if (ring->published != head) {
        ring->published = head;
        RING_STORE(&ring->shared->head, head);
    }
    uint32_t number = (uint32_t)RING_LOAD(&ring->shared->tail) - head;
    if (number == 0) {
        return 0;
    }
    if (number > ring->mask + 1) {
        ring->is_broken = 1;
        return 0;
    }
    uint32_t index = head & ring->mask;
    ring->at = &ring->slot[index];
    ring->end = ring->at + ring_least(ring_least(number, ring->batch), ring->mask + 1 - index);
    return 1;
}

/* 1 if there is a message to take. */
static inline int ring_has_mail(struct ring_consumer *ring)
{
    return ring->at != ring->end || ring_find_mail(ring);
}

/* The mailbox of the next message, less that of message 0; 64 or more if there is no such message, or if it is not the one that
 * follows the last. What the slot says may change at any moment, so it counts once. Requires: there is a message. */
static inline uint64_t ring_message(const struct ring_consumer *ring)
{
    return RING_READ(ring_word(ring->at)) - ring->first;
}

/* Takes the next message, but for its first word: its cookie and so many words of its payload. */
static inline __attribute__((always_inline)) void ring_take(struct ring_consumer *ring, struct mail *mail,
                                                            uint32_t words)
{
    const struct mail *from = ring->at;

    mail->cookie = RING_READ(&from->cookie);
    _Pragma("GCC unroll 5") for (uint32_t i = 0; i < words; i++)
    {
        uint64_t word = RING_READ((const uint64_t *)from->payload + i);
        __builtin_memcpy(mail->payload + 8 * i, &word, sizeof word);
    }
    ring->first += RING_NEXT;
    ring->at = from + 1;
}

/* Nothing more is put in or taken out. */
static inline void ring_close(struct ring_producer *out, struct ring_consumer *in)
{
    out->end = out->at;
    in->end = in->at;
}

/* Announces that the consumer is about to wait. It must look at every ring again after this. */
static inline void ring_arm(struct ring_consumer *ring)
{
    RING_EXCHANGE(&ring->shared->sleeping, 1);
}

/* The consumer does not wait: no signal is needed. */
static inline void ring_disarm(struct ring_consumer *ring)
{
    RING_STORE(&ring->shared->sleeping, 0);
}

#endif
