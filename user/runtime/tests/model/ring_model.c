/* The ring's wake-up protocol, checked in every interleaving with store buffers: the functions of ring.h as they are
 * compiled into drivers, in the loop in which domain.c calls them. No message is lost, doubled, torn or out of order, and
 * no thread waits for ever. With each part of the protocol taken away in turn, the checker must find a fault. */
#define RING_MODEL
#include "model.h"

struct mail;
static void read_mail(struct mail *to, const struct mail *from);
#define RING_LOAD(place) model_load(place)
#define RING_STORE(place, value) model_store((place), (value))
#define RING_EXCHANGE(place, value) model_exchange((place), (value))
#define RING_FENCE() model_fence()
#define RING_READ_MAIL(to, from) read_mail((to), (from))
#include "ashlar/ring.h"

#include <stdio.h>
#include <string.h>

/* In the model a message is two words, cookie and spare, each written and read by itself. */
static void read_mail(struct mail *to, const struct mail *from)
{
    to->cookie = model_load(&from->cookie);
    to->spare = model_load(&from->spare);
    to->sequence = (uint32_t)to->cookie;
}

/* ---- shared memory: two rings of two slots; 64-bit words, aligned as the structures want ---- */
#define CAPACITY 2u
#define RING_WORDS 32u /* 16 for the counts, two messages of 8 */

static struct ring_shared *shared_of(void *memory, uint32_t ring)
{
    return (struct ring_shared *)((uint64_t *)memory + ring * RING_WORDS);
}

static struct mail *slots_of(void *memory, uint32_t ring)
{
    return (struct mail *)((uint64_t *)memory + ring * RING_WORDS + 16);
}

static struct ring_producer producer_of(void *memory, uint32_t ring)
{
    return (struct ring_producer){shared_of(memory, ring), slots_of(memory, ring), CAPACITY - 1, 0, CAPACITY, 0};
}

static struct ring_consumer consumer_of(void *memory, uint32_t ring)
{
    return (struct ring_consumer){shared_of(memory, ring), slots_of(memory, ring), CAPACITY - 1, 0, 0, 0};
}

/* EMIT of message number `number`. */
static void emit(struct ring_producer *ring)
{
    uint64_t number = ring->tail;
    struct mail *slot = ring_free_slot(ring);

    if (slot == 0) {
        model_fail("a ring is full although all that was in it was answered");
        return;
    }
    model_store(&slot->cookie, number);
    model_store(&slot->spare, number);
    ring_put(ring);
}

static void flush(struct ring_producer *ring, uint32_t consumer)
{
    if (ring_must_signal(ring)) {
        model_signal(consumer);
    }
}

/* Takes a message if there is one, and checks that it is the next. */
static int take_if_any(struct ring_consumer *ring)
{
    struct mail mail;
    uint64_t expected = ring->head;

    if (ring_is_empty(ring)) {
        if (ring->is_broken) {
            model_fail("the consumer reads a count that cannot be");
        }
        return 0;
    }
    ring_take(ring, &mail);
    if (mail.cookie != expected || mail.spare != expected || ring->is_broken) {
        model_fail("a message is lost, doubled, torn or out of order");
    }
    return 1;
}

/* AWAIT on one ring: as domain_await() and wait_for_mail(). What was emitted is flushed between announcing the wait and
 * waiting. */
static void await(struct ring_consumer *in, struct ring_producer *out, uint32_t peer)
{
    while (!take_if_any(in)) {
        ring_arm(in);
        if (ring_is_empty(in)) {
            if (out != 0) {
                flush(out, peer);
            }
            model_wait();
        }
        ring_disarm(in);
    }
    if (out != 0) {
        flush(out, peer);
    }
}

/* ---- one way: as many messages as fit, flushed together or one by one ---- */
static void send_both(void *memory)
{
    struct ring_producer out = producer_of(memory, 0);
    emit(&out);
    emit(&out);
    flush(&out, 1);
}

static void send_each(void *memory)
{
    struct ring_producer out = producer_of(memory, 0);
    emit(&out);
    flush(&out, 1);
    emit(&out);
    flush(&out, 1);
}

static void receive_two(void *memory)
{
    struct ring_consumer in = consumer_of(memory, 0);
    await(&in, 0, 0);
    await(&in, 0, 0);
}

/* ---- requests and answers: the indices go round the ring ---- */
#define ROUNDS 4u

static void client(void *memory)
{
    struct ring_producer out = producer_of(memory, 0);
    struct ring_consumer in = consumer_of(memory, 1);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        emit(&out);
        emit(&out);
        await(&in, &out, 1);
        await(&in, &out, 1);
    }
}

static void server(void *memory)
{
    struct ring_consumer in = consumer_of(memory, 0);
    struct ring_producer out = producer_of(memory, 1);
    for (uint32_t message = 0; message < 2 * ROUNDS; message++) {
        await(&in, &out, 0);
        emit(&out);
    }
    flush(&out, 0);
}

/* ---- two clients of one domain: it waits for both rings at once ---- */
static void first_client(void *memory)
{
    struct ring_producer out = producer_of(memory, 0);
    emit(&out);
    flush(&out, 2);
    emit(&out);
    flush(&out, 2);
}

static void second_client(void *memory)
{
    struct ring_producer out = producer_of(memory, 1);
    emit(&out);
    flush(&out, 2);
}

static void both(void *memory)
{
    struct ring_consumer first = consumer_of(memory, 0);
    struct ring_consumer second = consumer_of(memory, 1);
    uint32_t left = 3;

    while (left != 0) {
        if (take_if_any(&first) || take_if_any(&second)) {
            left--;
            continue;
        }
        ring_arm(&first);
        ring_arm(&second);
        int first_is_empty = ring_is_empty(&first);
        int second_is_empty = ring_is_empty(&second);
        if (first_is_empty && second_is_empty) {
            model_wait();
        }
        ring_disarm(&first);
        ring_disarm(&second);
    }
}

static const struct model models[] = {
    {"two messages, flushed together", 2, {send_both, receive_two}, 64, 0},
    {"two messages, flushed one by one", 2, {send_each, receive_two}, 64, 0},
    {"requests and answers", 2, {client, server}, 64, 0},
    {"waits that time out", 2, {send_each, receive_two}, 64, 1},
    {"two clients of one domain", 3, {first_client, second_client, both}, 64, 0},
};
#define NUM_MODEL (sizeof models / sizeof models[0])

static const struct {
    enum model_fault fault;
    const char *what;
} faults[] = {
    {MODEL_NO_FENCE, "no fence after a message is put in"},
    {MODEL_PLAIN_ARM, "the announcement of a wait stays in the store buffer"},
    {MODEL_PLAIN_CLEAR, "the announcement is cleared by a plain store"},
    {MODEL_STORES_OVERTAKE, "a count overtakes the message"},
    {MODEL_FORGETFUL, "signals are not kept"},
};

int main(void)
{
    uint32_t failed = 0;

    for (uint32_t i = 0; i < NUM_MODEL; i++) {
        struct model_result result = model_check(&models[i], MODEL_SOUND);
        printf("%-36s %9lu states: %s\n", models[i].name, (unsigned long)result.states,
               result.failure == 0 ? "holds" : result.failure);
        failed += result.failure != 0;
    }
    for (uint32_t k = 0; k < sizeof faults / sizeof faults[0]; k++) {
        const char *found = 0;
        for (uint32_t i = 0; i < NUM_MODEL && found == 0; i++) {
            found = model_check(&models[i], faults[k].fault).failure;
        }
        printf("%-52s %s\n", faults[k].what, found != 0 ? found : "NOT FOUND");
        failed += found == 0;
    }
    return failed != 0;
}
