/* The slow paths of messages, not inlined into the fast paths (arch/x86_64/inlining.h). Private to the layer. */
#ifndef ASHLAR_ENDPOINT_PARTS_H
#define ASHLAR_ENDPOINT_PARTS_H

#include <stdint.h>

/* Copies the words: those in registers, the rest from message page to message page. Requires: 0 < n <=
 * MESSAGE_MAX_WORDS. */
void endpoint_copy(uint32_t to, uint32_t from, uint32_t n);

/* Gives thread `to` the fault message about `from`. */
void endpoint_deliver_fault(uint32_t to, uint32_t from);

/* Stores the reply of n words to a fault message where caller c expects it. */
void endpoint_answer_fault(uint32_t current, uint32_t c, uint32_t n);

/* Sends and waits: for the reply (SENDER_CALL, SENDER_FAULT) or until received (SENDER_SEND). Requires: no thread
 * waits to receive; lock of e held. Ensures: lock released, outcome stored. */
void endpoint_wait_to_send(uint32_t e, uint32_t current, uint32_t kind, uint64_t badge, uint32_t n);

/* Receives the message of sender s, which has just been removed from its endpoint's queue. Requires: lock of the endpoint
 * held. Returns s if it only sent: the caller makes it ready when it has released the lock; else NONE. */
uint32_t endpoint_take(uint32_t current, uint32_t s);

/* Removes and returns the receiver of e that has waited longest, or NONE. Requires: lock of e held. */
uint32_t endpoint_dequeue_of_many(uint32_t e);

/* Waits for a message. Requires: the current thread has no unanswered caller; no lock held. */
void endpoint_receive(uint32_t e, uint32_t current);

/* ---- endpoint_senders.c: threads that wait to send, in the order of their priorities. All but init require the lock of
 * e held. ---- */

/* Requires: start-up, all queues are empty. */
void endpoint_senders_init(void);

/* Queues t behind all of its priority. Requires: t is in no queue. */
void endpoint_senders_insert(uint32_t e, uint32_t t);

/* Requires: t is in the queue of e's senders. */
void endpoint_senders_remove(uint32_t e, uint32_t t);

/* ---- endpoint.c ---- */

/* 1 if e's senders are received from in the order in which they came, whatever their priorities; else 0. */
uint32_t endpoint_fifo(uint32_t e);

#endif
