/* A ring of messages in memory that two processes share: one, the producer, puts messages in, the other, the consumer,
 * takes them out. Neither trusts the other: each keeps its own index to itself and writes a copy for the other to read;
 * a copy that makes no sense breaks this ring and nothing else.
 *
 * The wake-up protocol: before the consumer waits for a signal it sets `sleeping` and looks once more; after the producer
 * has put something in it looks at `sleeping`, and if it is set, clears it and signals. Each side writes its own word and
 * then reads the other's. A processor may let the read overtake the write (x86 keeps writes in a store buffer), and then
 * both could miss each other: so a fence, or an exchange that is one, stands between. A signal is kept until it is
 * waited for. runtime/tests/model runs these very functions through every interleaving, with store buffers. */
#ifndef ASHLAR_RING_H
#define ASHLAR_RING_H

#include <stdint.h>

#define MAIL_PAYLOAD 40u

/* A message: one cache line. */
struct mail {
    uint32_t mailbox;  /* protocol number << 8 | message number */
    uint32_t sequence; /* of the ring; so what is lost, doubled or out of order shows */
    uint64_t cookie;
    uint64_t spare;
    uint8_t payload[MAIL_PAYLOAD];
};

/* The words that both sides see. */
struct ring_shared {
    _Alignas(64) uint64_t tail; /* written by the producer: messages ever put in */
    _Alignas(64) uint64_t head; /* written by the consumer: messages ever taken out */
    uint64_t sleeping;          /* set by the consumer, cleared by either */
};

#ifndef RING_MODEL
/* How shared words are touched. The model puts its own in the place of these. */
#define RING_LOAD(place) __atomic_load_n((place), __ATOMIC_ACQUIRE)
#define RING_STORE(place, value) __atomic_store_n((place), (value), __ATOMIC_RELEASE)
#define RING_EXCHANGE(place, value) __atomic_exchange_n((place), (value), __ATOMIC_SEQ_CST)
#define RING_FENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define RING_READ_MAIL(to, from) ring_read_mail((to), (from))

/* All but the spare word. */
static inline void ring_read_mail(struct mail *to, const struct mail *from)
{
    __builtin_memcpy(to, from, __builtin_offsetof(struct mail, spare));
    __builtin_memcpy(to->payload, from->payload, sizeof to->payload);
}
#endif

struct ring_producer {
    struct ring_shared *shared;
    struct mail *slot;
    uint64_t mask; /* slots - 1; their number is a power of two */
    uint64_t tail;
    uint64_t limit;     /* of `tail`, by what was last read of the consumer's head */
    uint32_t must_look; /* something was put in since `sleeping` was last looked at */
};

struct ring_consumer {
    struct ring_shared *shared;
    const struct mail *slot;
    uint64_t mask;
    uint64_t head;
    uint64_t tail; /* as last read */
    uint32_t is_broken;
};

/* The slot for the next message, or null if the ring is full, or the consumer's count makes no sense. */
static inline struct mail *ring_free_slot(struct ring_producer *ring)
{
    if (ring->tail == ring->limit) {
        uint64_t head = RING_LOAD(&ring->shared->head);
        if (ring->tail - head > ring->mask) {
            return 0;
        }
        ring->limit = head + ring->mask + 1;
    }
    return &ring->slot[ring->tail & ring->mask];
}

/* Puts in what was written to the free slot. */
static inline void ring_put(struct ring_producer *ring)
{
    ring->tail++;
    RING_STORE(&ring->shared->tail, ring->tail);
    ring->must_look = 1;
}

/* 1 if the consumer must be signalled now. Called after the last of some messages, at the latest before this side waits
 * itself. */
static inline int ring_must_signal(struct ring_producer *ring)
{
    if (!ring->must_look) {
        return 0;
    }
    ring->must_look = 0;
    RING_FENCE();
    return RING_LOAD(&ring->shared->sleeping) != 0 && RING_EXCHANGE(&ring->shared->sleeping, 0) != 0;
}

/* 1 if there is nothing to take. */
static inline int ring_is_empty(struct ring_consumer *ring)
{
    if (ring->head != ring->tail) {
        return 0;
    }
    uint64_t tail = RING_LOAD(&ring->shared->tail);
    if (tail == ring->head) {
        return 1;
    }
    if (tail - ring->head > ring->mask + 1) {
        ring->is_broken = 1;
        return 1;
    }
    ring->tail = tail;
    return 0;
}

/* Takes the oldest message. Requires: not empty. */
static inline void ring_take(struct ring_consumer *ring, struct mail *mail)
{
    RING_READ_MAIL(mail, &ring->slot[ring->head & ring->mask]);
    if (mail->sequence != (uint32_t)ring->head) {
        ring->is_broken = 1;
    }
    ring->head++;
    RING_STORE(&ring->shared->head, ring->head);
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
