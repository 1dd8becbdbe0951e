/* The ring's wake-up protocol, checked in every interleaving with store buffers: the functions of ring.h as they are
 * compiled into drivers, in the loop in which domain.c calls them. No message is lost, doubled, torn or out of order, no ring is
 * taken for full that is not, and no thread waits for ever. With each part of the protocol taken away in turn, the checker must
 * find a fault. */
#define RING_MODEL
#include "model.h"

#define RING_LOAD(place) model_load(place)
#define RING_STORE(place, value) model_store((place), (value))
#define RING_EXCHANGE(place, value) model_exchange((place), (value))
#define RING_FENCE() model_fence()
#define RING_READ(place) model_load(place)
#define RING_WRITE(place, value) model_store((place), (value))
#include "ashlar/ring.h"

#include <stdio.h>
#include <string.h>

/* ---- shared memory: two rings of four slots; 64-bit words, aligned as the structures want. Of a payload there is one word ---- */
#define CAPACITY 4u
#define BATCH 2u                         /* taken before the count is written: the rest is what may be under way */
#define RING_WORDS (16u + 8u * CAPACITY) /* 16 for the counts, a message of 8 for each slot */
#define SHARED_WORDS (2u * RING_WORDS)

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
    return (struct ring_producer){
        .shared = shared_of(memory, ring), .slot = slots_of(memory, ring), .mask = CAPACITY - 1};
}

static struct ring_consumer consumer_of(void *memory, uint32_t ring)
{
    return (struct ring_consumer){
        .shared = shared_of(memory, ring), .slot = slots_of(memory, ring), .mask = CAPACITY - 1, .batch = BATCH};
}

/* EMIT of the next message, which has its number in its cookie and its payload. */
static void emit(struct ring_producer *ring)
{
    uint64_t number = ring_count(ring->first);

    if (ring->at == ring->end && !ring_find_room(ring)) {
        model_fail("a ring is full although all that was in it was answered");
        return;
    }
    uint8_t *payload = ring_put(ring, 0, number);
    model_store((uint64_t *)payload, number);
}

/* What an AWAIT does for its peers. */
static void flush(struct ring_producer *ring, uint32_t consumer)
{
    if (ring_publish(ring) && ring_wake(ring)) {
        model_signal(consumer);
    }
}

/* Takes a message if there is one, and checks that it is the next. */
static int take_if_any(struct ring_consumer *ring)
{
    struct mail mail;
    uint64_t expected = ring_count(ring->first);
    uint64_t number;

    if (!ring_has_mail(ring)) {
        if (ring->is_broken) {
            model_fail("the consumer reads a count that cannot be");
        }
        return 0;
    }
    uint64_t message = ring_message(ring);
    ring_take(ring, &mail, 1);
    memcpy(&number, mail.payload, sizeof number);
    if (message != 0 || mail.cookie != expected || number != expected) {
        model_fail("a message is lost, doubled, torn or out of order");
    }
    return 1;
}

/* AWAIT on one ring: as domain_await() and what it calls. What was emitted is flushed before a message that is there is taken, or
 * between announcing the wait and waiting. */
static void await(struct ring_consumer *in, struct ring_producer *out, uint32_t peer)
{
    while (!ring_has_mail(in)) {
        ring_arm(in);
        if (!ring_find_mail(in)) {
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
    take_if_any(in);
}

/* ---- one way: flushed together or one by one; and more than the consumer takes before it writes its count ---- */
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

static void send_three(void *memory)
{
    struct ring_producer out = producer_of(memory, 0);
    emit(&out);
    flush(&out, 1);
    emit(&out);
    emit(&out);
    flush(&out, 1);
}

static void receive_two(void *memory)
{
    struct ring_consumer in = consumer_of(memory, 0);
    await(&in, 0, 0);
    await(&in, 0, 0);
}

static void receive_three(void *memory)
{
    struct ring_consumer in = consumer_of(memory, 0);
    await(&in, 0, 0);
    await(&in, 0, 0);
    await(&in, 0, 0);
}

/* ---- a peer that sends as long as there is room ---- */
static void fill(void *memory)
{
    struct ring_producer out = producer_of(memory, 0);

    for (uint32_t left = CAPACITY + 2; left != 0 && (out.at != out.end || ring_find_room(&out)); left--) {
        emit(&out);
        if (left % 2 == 0) {
            flush(&out, 1);
        }
    }
    flush(&out, 1);
}

static void receive_all(void *memory)
{
    struct ring_consumer in = consumer_of(memory, 0);
    for (uint32_t left = CAPACITY; left != 0; left--) {
        await(&in, 0, 0);
    }
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

/* Has so many requests under way as the ring has room for beside one that was taken and not counted yet. */
#define PIPELINED (CAPACITY - 1u)
#define REQUESTS 6u

static void pipeline(void *memory)
{
    struct ring_producer out = producer_of(memory, 0);
    struct ring_consumer in = consumer_of(memory, 1);
    for (uint32_t request = 0; request < REQUESTS; request++) {
        if (request >= PIPELINED) {
            await(&in, &out, 1);
        }
        emit(&out);
    }
    for (uint32_t left = PIPELINED; left != 0; left--) {
        await(&in, &out, 1);
    }
}

static void serve(void *memory, uint32_t requests, uint32_t batch)
{
    struct ring_consumer in = consumer_of(memory, 0);
    struct ring_producer out = producer_of(memory, 1);

    in.batch = batch;
    for (uint32_t request = 0; request < requests; request++) {
        await(&in, &out, 0);
        emit(&out);
    }
    flush(&out, 0);
}

static void server(void *memory)
{
    serve(memory, 2 * ROUNDS, BATCH);
}

static void server_one_by_one(void *memory)
{
    serve(memory, REQUESTS, 1);
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
        int first_has_mail = ring_has_mail(&first);
        int second_has_mail = ring_has_mail(&second);
        if (!first_has_mail && !second_has_mail) {
            model_wait();
        }
        ring_disarm(&first);
        ring_disarm(&second);
    }
}

static const struct model models[] = {
    {"two messages, flushed together", 2, {send_both, receive_two}, SHARED_WORDS, 0},
    {"two messages, flushed one by one", 2, {send_each, receive_two}, SHARED_WORDS, 0},
    {"one message, then two", 2, {send_three, receive_three}, SHARED_WORDS, 0},
    {"as many messages as there is room for", 2, {fill, receive_all}, SHARED_WORDS, 0},
    {"requests and answers", 2, {client, server}, SHARED_WORDS, 0},
    {"requests that follow answers", 2, {pipeline, server_one_by_one}, SHARED_WORDS, 0},
    {"waits that time out", 2, {send_each, receive_two}, SHARED_WORDS, 1},
    {"two clients of one domain", 3, {first_client, second_client, both}, SHARED_WORDS, 0},
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

/* ---- programs that use the rings in a wrong way, which must be seen ---- */

/* Looks whether the consumer waits before it publishes. */
static void send_and_publish_late(void *memory)
{
    struct ring_producer out = producer_of(memory, 0);
    emit(&out);
    emit(&out);
    if (RING_LOAD(&out.shared->sleeping) != 0 && ring_wake(&out)) {
        model_signal(1);
    }
    ring_publish(&out);
}

/* Takes for granted that what is put in is seen. */
static void send_and_publish_one(void *memory)
{
    struct ring_producer out = producer_of(memory, 0);
    emit(&out);
    flush(&out, 1);
    emit(&out);
}

/* Publishes before the message is whole. */
static void send_and_publish_early(void *memory)
{
    struct ring_producer out = producer_of(memory, 0);
    emit(&out);
    ring_find_room(&out);
    uint8_t *payload = ring_put(&out, 0, 1);
    flush(&out, 1);
    model_store((uint64_t *)payload, 1);
}

/* Takes more before it writes its count than the ring has room for. */
static void server_of_large_batches(void *memory)
{
    serve(memory, REQUESTS, CAPACITY);
}

/* Never writes its count: what it knows of has no end. */
static void server_without_count(void *memory)
{
    struct ring_consumer in = consumer_of(memory, 0);
    struct ring_producer out = producer_of(memory, 1);

    for (uint32_t request = 0; request < 2 * ROUNDS; request++) {
        in.published = ring_count(in.first);
        await(&in, &out, 0);
        emit(&out);
    }
    flush(&out, 0);
}

/* Goes to sleep without a second look. */
static void receive_at_once(void *memory)
{
    struct ring_consumer in = consumer_of(memory, 0);
    for (uint32_t left = 2; left != 0; left--) {
        while (!ring_has_mail(&in)) {
            ring_arm(&in);
            model_wait();
            ring_disarm(&in);
        }
        take_if_any(&in);
    }
}

static const struct model wrong[] = {
    {"the wait is looked for before publishing", 2, {send_and_publish_late, receive_two}, SHARED_WORDS, 0},
    {"the last message is not published", 2, {send_and_publish_one, receive_two}, SHARED_WORDS, 0},
    {"a message is published before it is whole", 2, {send_and_publish_early, receive_two}, SHARED_WORDS, 0},
    {"a batch is larger than the room for it", 2, {pipeline, server_of_large_batches}, SHARED_WORDS, 0},
    {"what was taken is never told", 2, {client, server_without_count}, SHARED_WORDS, 0},
    {"no second look before the wait", 2, {send_both, receive_at_once}, SHARED_WORDS, 0},
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
    for (uint32_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const char *found = model_check(&wrong[i], MODEL_SOUND).failure;
        printf("%-52s %s\n", wrong[i].name, found != 0 ? found : "NOT FOUND");
        failed += found == 0;
    }
    return failed != 0;
}
