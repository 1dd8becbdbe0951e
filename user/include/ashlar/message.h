/* Messages over endpoints. The first ten words travel in registers, the rest in the sending thread's message page,
 * where word i stands at index i. */
#ifndef ASHLAR_MESSAGE_H
#define ASHLAR_MESSAGE_H

#include "ashlar/syscall.h"

struct message {
    uint64_t badge;                        /* received: the sender's badge */
    uint64_t count;                        /* words, 0..MESSAGE_MAX_WORDS */
    uint64_t word[MESSAGE_REGISTER_WORDS]; /* words 0..9; the others are in message_page() */
};

/* The message page of thread `thread` of this process (its number as env_thread() gives it; the first is 0). */
static inline uint64_t *message_page(uint32_t thread)
{
    return (uint64_t *)(MESSAGE_VADDR + thread * PAGE_SIZE);
}

/* Sends message->count words and waits; on STATUS_OK the message holds the reply. Loads and stores only the
 * register words that the two counts name. */
uint32_t message_call(uint32_t slot, struct message *message);

/* Replies with message->count words to the caller served last, then waits for the next request. */
uint32_t message_reply_recv(uint32_t slot, struct message *message);

/* Waits for a request. */
uint32_t message_recv(uint32_t slot, struct message *message);

/* Sends without waiting for an answer (but until a receiver has taken it). */
uint32_t message_send(uint32_t slot, struct message *message);

/* Replies without waiting for the next request. */
uint32_t message_reply(struct message *message);

#ifdef ASHLAR_UNIT
uint32_t unit_message(uint64_t number, uint32_t slot, struct message *message);

static inline uint32_t message_fast(uint64_t number, uint32_t slot, uint64_t *count, uint64_t *badge, uint64_t *w0,
                                    uint64_t *w1, uint64_t *w2, uint64_t *w3)
{
    struct message message = {.count = *count, .word = {*w0, *w1, *w2, *w3}};
    uint32_t status = unit_message(number, slot, &message);
    *badge = message.badge;
    *count = message.count;
    *w0 = message.word[0];
    *w1 = message.word[1];
    *w2 = message.word[2];
    *w3 = message.word[3];
    return status;
}

static inline uint32_t message_inline(uint64_t number, uint32_t slot, struct message *message)
{
    return unit_message(number, slot, message);
}
#else
/* The shortest paths, for callers that use at most four words: everything stays in registers. The asm saves rbp
 * itself because a peer may fill all ten registers and the compiler does not accept rbp as a clobber everywhere;
 * user code is built without a red zone, so pushing is safe. */
static inline uint32_t message_fast(uint64_t number, uint32_t slot, uint64_t *count, uint64_t *badge, uint64_t *w0,
                                    uint64_t *w1, uint64_t *w2, uint64_t *w3)
{
    uint64_t a = slot;
    uint64_t b = *count;
    register uint64_t rdx __asm__("rdx") = *w0;
    register uint64_t r10 __asm__("r10") = *w1;
    register uint64_t r8 __asm__("r8") = *w2;
    register uint64_t r9 __asm__("r9") = *w3;
    __asm__ volatile("push %%rbp\n\tsyscall\n\tpop %%rbp"
                     : "+a"(number), "+D"(a), "+S"(b), "+r"(rdx), "+r"(r10), "+r"(r8), "+r"(r9)
                     :
                     : "rcx", "r11", "rbx", "r12", "r13", "r14", "r15", "memory");
    *badge = a;
    *count = b;
    *w0 = rdx;
    *w1 = r10;
    *w2 = r8;
    *w3 = r9;
    return (uint32_t)number;
}

/* The inline forms of message_call and message_reply_recv: all ten register words go in and come out, whatever the
 * counts are, so a message in a local variable stays in registers from one call to the next. rcx carries rbp's word
 * past the compiler, which uses rbp itself. */
static inline __attribute__((always_inline)) uint32_t message_inline(uint64_t number, uint32_t slot,
                                                                     struct message *message)
{
    uint64_t a = slot;
    uint64_t b = message->count;
    uint64_t w0 = message->word[0];
    uint64_t w8 = message->word[8];
    uint64_t w9 = message->word[9];
    register uint64_t r10 __asm__("r10") = message->word[1];
    register uint64_t r8 __asm__("r8") = message->word[2];
    register uint64_t r9 __asm__("r9") = message->word[3];
    register uint64_t r12 __asm__("r12") = message->word[4];
    register uint64_t r13 __asm__("r13") = message->word[5];
    register uint64_t r14 __asm__("r14") = message->word[6];
    register uint64_t r15 __asm__("r15") = message->word[7];
    __asm__ volatile("push %%rbp\n\tmov %%rcx, %%rbp\n\tsyscall\n\tmov %%rbp, %%rcx\n\tpop %%rbp"
                     : "+a"(number), "+D"(a), "+S"(b), "+d"(w0), "+r"(r10), "+r"(r8), "+r"(r9), "+r"(r12), "+r"(r13),
                       "+r"(r14), "+r"(r15), "+b"(w8), "+c"(w9)
                     :
                     : "r11", "memory");
    message->badge = a;
    message->count = b;
    message->word[0] = w0;
    message->word[1] = r10;
    message->word[2] = r8;
    message->word[3] = r9;
    message->word[4] = r12;
    message->word[5] = r13;
    message->word[6] = r14;
    message->word[7] = r15;
    message->word[8] = w8;
    message->word[9] = w9;
    return (uint32_t)number;
}

#endif

static inline __attribute__((always_inline)) uint32_t message_call_inline(uint32_t slot, struct message *message)
{
    return message_inline(SYS_CALL, slot, message);
}

static inline __attribute__((always_inline)) uint32_t message_reply_recv_inline(uint32_t slot, struct message *message)
{
    return message_inline(SYS_REPLY_RECV, slot, message);
}

/* Call without words: the empty round trip. */
static inline uint32_t message_call0(uint32_t slot)
{
    uint64_t count = 0, badge, w0 = 0, w1 = 0, w2 = 0, w3 = 0;
    return message_fast(SYS_CALL, slot, &count, &badge, &w0, &w1, &w2, &w3);
}

/* Call with one word; *word becomes the reply's first word. */
static inline uint32_t message_call1(uint32_t slot, uint64_t *word)
{
    uint64_t count = 1, badge, w1 = 0, w2 = 0, w3 = 0;
    return message_fast(SYS_CALL, slot, &count, &badge, word, &w1, &w2, &w3);
}

#endif
