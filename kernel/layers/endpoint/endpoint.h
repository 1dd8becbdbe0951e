/* Synchronous endpoints: a client's call meets a server's receive; the message is copied once, from the sender's
 * registers and message page to the receiver's. A caller waits for its reply; only the server thread that received
 * the call can reply, and it has at most one unanswered caller.
 *
 * When call, send, recv or reply_recv returns, the outcome is in the current thread's saved registers: the status in
 * rax and, for a received message, the badge in rdi, the number of words in rsi, and the words. The peer writes it
 * while the thread is blocked, so nothing has to be copied when the thread runs again.
 *
 * Lock: LOCK_ENDPOINT_BASE + e guards endpoint e, its two queues, the wait state of the threads blocked on it, and
 * the reply links that were made through it. */
#ifndef ASHLAR_ENDPOINT_H
#define ASHLAR_ENDPOINT_H

#include <stdint.h>

#include "config.h"

#define ENDPOINT_FIFO 1u /* senders queue in arrival order; else by priority, then in arrival order */

/* Requires: start-up, one CPU. Ensures: no endpoint is defined, no thread has a caller. */
void endpoint_init(void);

/* Requires: start-up; e < NUM_ENDPOINT. Ensures: e exists and is closed; only threads of owner receive from it. */
void endpoint_define(uint32_t e, uint32_t owner, uint32_t flags);

/* The receiving process of e, or NONE if e is not defined. */
uint32_t endpoint_owner(uint32_t e);

/* Requires: e is defined. Ensures: e accepts calls, which wait until a thread receives. */
void endpoint_open(uint32_t e);

/* Ensures: new calls are refused with ERR_PEER_DEAD. One bounded step: wakes at most one waiting thread with
 * ERR_PEER_DEAD. Returns 1 if threads may still be waiting, else 0. */
uint32_t endpoint_close(uint32_t e);

/* All of the following require: e < NUM_ENDPOINT is defined, no lock held, n <= MESSAGE_MAX_WORDS.
 * Errors, with nothing changed: ERR_PEER_DEAD (e is closed, or was closed while waiting),
 * ERR_CANCELLED (the process is being ended). */

/* Sends n words and waits for the reply. The receiver gets badge. Returns 1 if the thread may go back to user mode at
 * once, because no reschedule is pending; else 0. */
uint32_t endpoint_call(uint32_t e, uint64_t badge, uint32_t n);

/* Sends n words and waits until they are received. */
void endpoint_send(uint32_t e, uint64_t badge, uint32_t n);

/* Waits for a message. ERR_BAD_STATE if the current thread has an unanswered caller. */
void endpoint_recv(uint32_t e);

/* Replies to the unanswered caller with n words; does not block. Returns STATUS_OK; ERR_NO_REPLY_PENDING (no caller
 * waits for a reply, or it ended meanwhile). */
uint32_t endpoint_reply(uint32_t n);

/* Replies to the unanswered caller, if there still is one. Returns 1, as endpoint_call, if it has also waited for the next
 * message; 0: the caller of this function receives it by endpoint_recv, and may serve interrupts before. */
uint32_t endpoint_reply_recv(uint32_t e, uint32_t n);

/* Sends the exception in the current thread's saved context as a call (words: FAULT_*) that leaves the thread's
 * registers unchanged. Returns STATUS_OK when the handler has replied (endpoint_fault_action, endpoint_fault_ip);
 * ERR_PEER_DEAD; ERR_CANCELLED. */
uint32_t endpoint_fault(uint32_t e, uint64_t badge);
uint64_t endpoint_fault_action(void); /* word 0 of the reply, 0 if the reply was empty */
uint64_t endpoint_fault_ip(void);     /* word 1 of the reply, 0 if it had none */

/* Ends t's wait for an endpoint, if any, with ERR_CANCELLED. Requires: t belongs to this CPU, does not run, and waits
 * for no notification or condition variable. */
void endpoint_cancel(uint32_t t);

/* Called when the current thread ends: its unanswered caller, if any, gets ERR_PEER_DEAD. */
void endpoint_thread_ended(void);

uint32_t endpoint_check(void);

#endif
