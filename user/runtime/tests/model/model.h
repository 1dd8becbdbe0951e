/* An explicit-state checker of small concurrent C programs under x86-TSO: runs the real code of each thread on a stack of its
 * own, stops before every access to shared memory, and tries every continuation from every state that it has not
 * seen. A state is everything: the live parts of the stacks, shared memory, store buffers, signals.
 *
 * Threads must keep what they remember on their stacks, and call nothing but what stands here. */
#ifndef MODEL_H
#define MODEL_H

#include <stdint.h>

#define MODEL_THREADS 3u

/* What can be taken away from the machine or the protocol, to see that the checker notices. */
enum model_fault {
    MODEL_SOUND,
    MODEL_NO_FENCE,        /* fences do nothing */
    MODEL_PLAIN_ARM,       /* an exchange to 1 is a plain store: it stays in the store buffer */
    MODEL_PLAIN_CLEAR,     /* so is one to 0 */
    MODEL_STORES_OVERTAKE, /* stores to different words reach memory in any order */
    MODEL_FORGETFUL,       /* a signal without a waiting thread is lost */
};

struct model {
    const char *name;
    uint32_t num_thread;
    void (*thread[MODEL_THREADS])(void *shared);
    uint32_t shared_words; /* 64-bit words, all 0 at first */
    uint32_t may_time_out; /* a wait may end without a signal at any moment */
};

struct model_result {
    uint64_t states;
    const char *failure; /* null: none */
};

/* Tries everything. */
struct model_result model_check(const struct model *model, enum model_fault fault);

/* ---- for the threads ---- */
uint64_t model_load(const uint64_t *place);
void model_store(uint64_t *place, uint64_t value);
uint64_t model_exchange(uint64_t *place, uint64_t value);
void model_fence(void);
void model_signal(uint32_t thread);
void model_wait(void);
/* The property is broken. */
void model_fail(const char *why);

#endif
