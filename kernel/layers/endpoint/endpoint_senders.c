/* Threads that wait to send: the first of the highest priority is received from first. The queue of an endpoint is kept in
 * this order; the first thread of each priority is known, so that a thread finds its place in a time that does not
 * depend on how many wait. */
#include "arch.h"
#include "endpoint.h"
#include "endpoint_parts.h"
#include "queue.h"
#include "thread.h"

#define ENDPOINT_ORDER_WORDS (NUM_PRIORITY / 64u)

/* Guarded by LOCK_ENDPOINT_BASE + e. Invariant: a bit of word is set exactly if threads of this priority are in the queue; the
 * first of them stands in endpoint_first. */
struct endpoint_order {
    uint64_t word[ENDPOINT_ORDER_WORDS];
};

static struct endpoint_order endpoint_order[NUM_ENDPOINT];
static uint32_t endpoint_first[NUM_ENDPOINT * NUM_PRIORITY];

void endpoint_senders_init(void)
{
    for (uint32_t e = 0u; e < NUM_ENDPOINT; e = e + 1u) {
        for (uint32_t i = 0u; i < ENDPOINT_ORDER_WORDS; i = i + 1u) {
            endpoint_order[e].word[i] = 0ul;
        }
    }
}

/* The rank of t among e's senders: its base priority, which is constant, so another CPU may read it; the same for all if
 * e is first-in first-out. */
static uint32_t endpoint_rank(uint32_t e, uint32_t t)
{
    uint32_t rank = 0u;
    uint32_t fifo = endpoint_fifo(e);
    if (fifo == 0u) {
        rank = thread_base_priority(t);
    }
    return rank;
}

/* The first thread of the highest rank below this one, or NONE. */
static uint32_t endpoint_first_below(uint32_t e, uint32_t rank)
{
    uint32_t word = rank / 64u;
    uint64_t lower = endpoint_order[e].word[word] & ((1ul << (rank % 64u)) - 1ul);
    for (uint32_t i = 0u; i < ENDPOINT_ORDER_WORDS && lower == 0ul && word > 0u; i = i + 1u) {
        word = word - 1u;
        lower = endpoint_order[e].word[word];
    }
    if (lower == 0ul) {
        return NONE;
    }
    uint32_t bit = arch_highest_bit(lower);
    return endpoint_first[e * NUM_PRIORITY + word * 64u + bit];
}

void endpoint_senders_insert(uint32_t e, uint32_t t)
{
    uint32_t rank = endpoint_rank(e, t);
    uint32_t before = endpoint_first_below(e, rank);
    uint64_t bit = 1ul << (rank % 64u);
    if (before == NONE) {
        queue_enqueue(QUEUE_ENDPOINT_SEND_BASE + e, t);
    } else {
        queue_insert_before(QUEUE_ENDPOINT_SEND_BASE + e, t, before);
    }
    if ((endpoint_order[e].word[rank / 64u] & bit) == 0ul) {
        endpoint_order[e].word[rank / 64u] = endpoint_order[e].word[rank / 64u] | bit;
        endpoint_first[e * NUM_PRIORITY + rank] = t;
    }
}

void endpoint_senders_remove(uint32_t e, uint32_t t)
{
    uint32_t rank = endpoint_rank(e, t);
    uint32_t next = queue_next(t);
    queue_remove(t);
    if (endpoint_first[e * NUM_PRIORITY + rank] != t) {
        return;
    }
    uint32_t follows = NUM_PRIORITY;
    if (next != NONE) {
        follows = endpoint_rank(e, next);
    }
    if (follows == rank) {
        endpoint_first[e * NUM_PRIORITY + rank] = next;
    } else {
        endpoint_order[e].word[rank / 64u] = endpoint_order[e].word[rank / 64u] & ~(1ul << (rank % 64u));
    }
}
