/* The explicit-state checker. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK_BYTES 4096u
#define MAX_WORDS 96u
#define MAX_BUFFER 8u /* stores that wait in a processor's buffer; further ones wait for room */
#define MAX_CHOICE 32u

/* What a thread is about to do. */
enum step { STEP_LOAD, STEP_STORE, STEP_LOCKED, STEP_SIGNAL, STEP_WAIT, STEP_END };

struct buffered {
    uint32_t word;
    uint64_t value;
};

struct processor {
    uint64_t stack_pointer;
    uint32_t step;
    uint32_t num_buffered;
    struct buffered buffer[MAX_BUFFER];
    uint64_t is_signalled;
};

/* All of a state but the stacks. */
struct world {
    struct processor processor[MODEL_THREADS];
    uint64_t shared[MAX_WORDS] __attribute__((aligned(64)));
};

/* A state in the list of those to be continued: the world, then the live part of each stack. */
struct saved {
    struct world world;
    uint32_t num_choice;
    uint32_t next_choice;
    uint8_t choice[MAX_CHOICE];
    uint8_t *stacks;
};

static struct world world;
static uint8_t stack[MODEL_THREADS][STACK_BYTES] __attribute__((aligned(64)));
static uint64_t checker_stack_pointer;
static uint32_t running;
static const struct model *model;
static enum model_fault fault;
static const char *failure;

void dispatch_switch(uint64_t *from, uint64_t to);
void dispatch_entry(void);
void dispatch_begin(void);

/* ---- in a thread ---- */

static void stop_before(enum step step)
{
    world.processor[running].step = step;
    dispatch_switch(&world.processor[running].stack_pointer, checker_stack_pointer);
}

static uint32_t word_of(const uint64_t *place)
{
    return (uint32_t)(place - world.shared);
}

static uint64_t visible(uint32_t word)
{
    const struct processor *p = &world.processor[running];
    for (uint32_t i = p->num_buffered; i > 0; i--) {
        if (p->buffer[i - 1].word == word) {
            return p->buffer[i - 1].value;
        }
    }
    return world.shared[word];
}

static void put_in_buffer(uint32_t word, uint64_t value)
{
    struct processor *p = &world.processor[running];
    p->buffer[p->num_buffered] = (struct buffered){word, value};
    p->num_buffered++;
}

uint64_t model_load(const uint64_t *place)
{
    stop_before(STEP_LOAD);
    return visible(word_of(place));
}

void model_store(uint64_t *place, uint64_t value)
{
    stop_before(STEP_STORE);
    put_in_buffer(word_of(place), value);
}

uint64_t model_exchange(uint64_t *place, uint64_t value)
{
    if (fault == (value != 0 ? MODEL_PLAIN_ARM : MODEL_PLAIN_CLEAR)) {
        uint64_t old = model_load(place);
        model_store(place, value);
        return old;
    }
    stop_before(STEP_LOCKED);
    uint64_t old = world.shared[word_of(place)];
    world.shared[word_of(place)] = value;
    return old;
}

void model_fence(void)
{
    if (fault != MODEL_NO_FENCE) {
        stop_before(STEP_LOCKED);
    }
}

/* A system call, which is not taken to empty the store buffer. */
void model_signal(uint32_t thread)
{
    stop_before(STEP_SIGNAL);
    if (fault != MODEL_FORGETFUL || world.processor[thread].step == STEP_WAIT) {
        world.processor[thread].is_signalled = 1;
    }
}

void model_wait(void)
{
    stop_before(STEP_WAIT);
    world.processor[running].is_signalled = 0;
}

void model_fail(const char *why)
{
    failure = why;
    for (;;) {
        stop_before(STEP_END);
    }
}

void dispatch_begin(void)
{
    model->thread[running](world.shared);
    for (;;) {
        stop_before(STEP_END);
    }
}

/* ---- in the checker ---- */

static void run(uint32_t thread)
{
    running = thread;
    dispatch_switch(&checker_stack_pointer, world.processor[thread].stack_pointer);
}

static int can_run(uint32_t thread)
{
    const struct processor *p = &world.processor[thread];
    switch (p->step) {
    case STEP_STORE:
        return p->num_buffered < MAX_BUFFER;
    case STEP_LOCKED:
        return p->num_buffered == 0;
    case STEP_WAIT:
        return p->is_signalled || model->may_time_out;
    case STEP_END:
        return 0;
    default:
        return 1;
    }
}

/* Whether the i-th buffered store may reach memory now. */
static int can_drain(const struct processor *p, uint32_t i)
{
    if (i == 0 || fault != MODEL_STORES_OVERTAKE) {
        return i == 0;
    }
    for (uint32_t k = 0; k < i; k++) {
        if (p->buffer[k].word == p->buffer[i].word) {
            return 0;
        }
    }
    return 1;
}

/* A choice: a thread's next step, or 16 * (thread + 1) + the store that reaches memory. */
static uint32_t choices(uint8_t choice[MAX_CHOICE])
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < model->num_thread; t++) {
        if (can_run(t)) {
            choice[count] = (uint8_t)t;
            count++;
        }
        for (uint32_t i = 0; i < world.processor[t].num_buffered; i++) {
            if (can_drain(&world.processor[t], i)) {
                choice[count] = (uint8_t)(16 * (t + 1) + i);
                count++;
            }
        }
    }
    return count;
}

static void take(uint8_t choice)
{
    if (choice < 16) {
        run(choice);
        return;
    }
    struct processor *p = &world.processor[choice / 16 - 1];
    uint32_t i = choice % 16;
    world.shared[p->buffer[i].word] = p->buffer[i].value;
    p->num_buffered--;
    memmove(&p->buffer[i], &p->buffer[i + 1], (p->num_buffered - i) * sizeof p->buffer[0]);
    p->buffer[p->num_buffered] = (struct buffered){0, 0};
}

static size_t live_bytes(const struct world *w, uint32_t t)
{
    return (uint64_t)(stack[t] + STACK_BYTES) - w->processor[t].stack_pointer;
}

/* ---- states seen: a hash of 128 bits each ---- */

struct seen {
    uint64_t high, low;
};
static struct seen *seen;
static uint64_t seen_size, seen_count;

static uint64_t mix(uint64_t hash, const void *data, size_t bytes, uint64_t factor)
{
    const uint8_t *at = data;
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        uint64_t word;
        memcpy(&word, at + i, 8);
        hash = (hash ^ word) * factor;
        hash ^= hash >> 29;
    }
    return hash;
}

static struct seen hash_state(void)
{
    struct seen h = {0x243f6a8885a308d3, 0x13198a2e03707344};
    h.high = mix(h.high, &world, sizeof world, 0x9e3779b97f4a7c15);
    h.low = mix(h.low, &world, sizeof world, 0xbf58476d1ce4e5b9);
    for (uint32_t t = 0; t < model->num_thread; t++) {
        const void *from = (const void *)world.processor[t].stack_pointer;
        h.high = mix(h.high, from, live_bytes(&world, t), 0x9e3779b97f4a7c15);
        h.low = mix(h.low, from, live_bytes(&world, t), 0xbf58476d1ce4e5b9);
    }
    return h;
}

/* Returns 1 if the state is new. */
static int remember(struct seen h)
{
    if (seen_count * 2 >= seen_size) {
        struct seen *old = seen;
        uint64_t old_size = seen_size;
        seen_size = seen_size == 0 ? 1 << 16 : seen_size * 2;
        seen = calloc(seen_size, sizeof *seen);
        if (seen == NULL) {
            fprintf(stderr, "out of memory\n");
            exit(2);
        }
        seen_count = 0;
        for (uint64_t i = 0; i < old_size; i++) {
            if (old[i].high != 0 || old[i].low != 0) {
                remember(old[i]);
            }
        }
        free(old);
    }
    uint64_t at = h.low & (seen_size - 1);
    while (seen[at].high != 0 || seen[at].low != 0) {
        if (seen[at].high == h.high && seen[at].low == h.low) {
            return 0;
        }
        at = (at + 1) & (seen_size - 1);
    }
    seen[at] = h;
    seen_count++;
    return 1;
}

/* ---- the search ---- */

static struct saved *open_states;
static size_t num_open, room;

static void save(void)
{
    if (num_open == room) {
        room = room == 0 ? 1024 : room * 2;
        open_states = realloc(open_states, room * sizeof *open_states);
    }
    struct saved *s = &open_states[num_open];
    num_open++;
    s->world = world;
    s->next_choice = 0;
    s->num_choice = choices(s->choice);
    size_t bytes = 0;
    for (uint32_t t = 0; t < model->num_thread; t++) {
        bytes += live_bytes(&world, t);
    }
    s->stacks = malloc(bytes);
    if (open_states == NULL || s->stacks == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    uint8_t *to = s->stacks;
    for (uint32_t t = 0; t < model->num_thread; t++) {
        memcpy(to, (const void *)world.processor[t].stack_pointer, live_bytes(&world, t));
        to += live_bytes(&world, t);
    }
}

static void restore(const struct saved *s)
{
    const uint8_t *from = s->stacks;
    world = s->world;
    for (uint32_t t = 0; t < model->num_thread; t++) {
        memcpy((void *)world.processor[t].stack_pointer, from, live_bytes(&world, t));
        from += live_bytes(&world, t);
    }
}

/* What holds where nothing more can happen: every thread has come to its end. */
static void check_end(void)
{
    for (uint32_t t = 0; t < model->num_thread; t++) {
        if (world.processor[t].step != STEP_END) {
            failure = "a thread waits for ever: a wake-up was lost";
        }
    }
}

static void begin(void)
{
    memset(&world, 0, sizeof world);
    memset(stack, 0, sizeof stack);
    for (uint32_t t = 0; t < model->num_thread; t++) {
        uint64_t *top = (uint64_t *)(stack[t] + STACK_BYTES) - 8;
        top[6] = (uint64_t)dispatch_entry;
        world.processor[t].stack_pointer = (uint64_t)top;
        run(t); /* up to its first step */
    }
}

struct model_result model_check(const struct model *checked, enum model_fault with)
{
    struct model_result result = {0, NULL};

    model = checked;
    fault = with;
    failure = NULL;
    free(seen);
    seen = NULL;
    seen_size = seen_count = 0;
    num_open = 0;
    begin();
    remember(hash_state());
    save();
    while (num_open != 0 && failure == NULL) {
        struct saved *s = &open_states[num_open - 1];
        if (s->next_choice == s->num_choice) {
            free(s->stacks);
            num_open--;
            continue;
        }
        restore(s);
        take(s->choice[s->next_choice]);
        s->next_choice++;
        if (failure == NULL && remember(hash_state())) {
            save();
            if (open_states[num_open - 1].num_choice == 0) {
                check_end();
            }
        }
    }
    while (num_open != 0) {
        num_open--;
        free(open_states[num_open].stacks);
    }
    result.states = seen_count;
    result.failure = failure;
    return result;
}
