/* Synchronous endpoints: a client's call meets a server's receive; the message is copied once, from the sender's
 * registers and message page to the receiver's. A caller waits for its reply; the server thread that took the call
 * holds the only right to answer, in a reply slot of its own (one unanswered caller at most).
 *
 * The outcome of call, send, recv, reply_recv stands in the current thread's saved registers when the function returns:
 * rax status, and for a received message rdi badge, rsi words, the words. It may be written by the peer while the thread
 * is blocked, so nothing has to be copied when it runs again.
 *
 * Lock: LOCK_ENDPOINT_BASE + e guards endpoint e, its two queues, the wait state of the threads blocked on it, and the
 * reply links that were made through it. */
#ifndef ASHLAR_ENDPOINT_H
#define ASHLAR_ENDPOINT_H

#include <stdint.h>

#include "config.h"

#define ENDPOINT_FIFO 1u /* waiting senders in arrival order; else by priority, equal ones in arrival order */

/* Requires: start-up, one CPU. Ensures: no endpoint is defined, no thread has a caller. */
void endpoint_init(void);

/* Requires: start-up; e < NUM_ENDPOINT. Ensures: e exists, is closed, and is received on by threads of owner only. */
void endpoint_define(uint32_t e, uint32_t owner, uint32_t flags);

/* The receiving process of e, or NONE if e is not defined. */
uint32_t endpoint_owner(uint32_t e);

/* Requires: e is defined. Ensures: calls are taken (they wait until someone receives). */
void endpoint_open(uint32_t e);

/* Ensures: new calls are refused with ERR_PEER_DEAD. One bounded piece: wakes at most one waiting thread with
 * ERR_PEER_DEAD. Returns 1 if there may be more to do, 0 when nobody waits any longer. */
uint32_t endpoint_close(uint32_t e);

/* All of the following require: e < NUM_ENDPOINT is defined, no lock held, n <= MESSAGE_MAX_WORDS.
 * Errors, with nothing changed: ERR_PEER_DEAD (e is closed, or was closed while waiting),
 * ERR_CANCELLED (the process is being ended). */

/* Sends n words and waits for the reply. The receiver gets badge. */
void endpoint_call(uint32_t e, uint64_t badge, uint32_t n);

/* Sends n words and waits until they are received. */
void endpoint_send(uint32_t e, uint64_t badge, uint32_t n);

/* Waits for a message. ERR_BAD_STATE if the current thread has an unanswered caller. */
void endpoint_recv(uint32_t e);

/* Answers the unanswered caller with n words; does not block. Returns STATUS_OK; ERR_NO_REPLY_PENDING (nobody waits for
 * an answer, or the caller ended meanwhile). */
uint32_t endpoint_reply(uint32_t n);

/* Answers the unanswered caller, if there still is one, and waits for the next message. */
void endpoint_reply_recv(uint32_t e, uint32_t n);

/* A call in the name of the current thread about the exception in its saved context (words: FAULT_*), which the thread's
 * registers don't show. Returns STATUS_OK when answered (endpoint_fault_action, endpoint_fault_ip); ERR_PEER_DEAD;
 * ERR_CANCELLED. */
uint32_t endpoint_fault(uint32_t e, uint64_t badge);
uint64_t endpoint_fault_action(void); /* word 0 of the answer, 0 if the answer was empty */
uint64_t endpoint_fault_ip(void);     /* word 1 of the answer, 0 if it had none */

/* Requires: t belongs to this CPU, does not run, and waits for no notification or condition variable. Ensures: if t waits
 * here, its wait ends with ERR_CANCELLED. */
void endpoint_cancel(uint32_t t);

/* The current thread ends: its unanswered caller, if any, gets ERR_PEER_DEAD. */
void endpoint_thread_ended(void);

uint32_t endpoint_check(void);

#endif
