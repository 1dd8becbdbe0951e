/* Notifications: a word of bits that any process with the right sets and one process waits for. They carry interrupts
 * and events that must not block the sender. Bits set while no thread waits are kept as long as the owner lives; setting
 * a bit that is set has no effect.
 *
 * Lock: LOCK_NOTIFY_BASE + n guards the word, the queue of waiters, their wait state, and the watch. */
#ifndef ASHLAR_NOTIFY_H
#define ASHLAR_NOTIFY_H

#include <stdint.h>

#include "config.h"

/* A deadline that never comes. */
#define NOTIFY_FOREVER 0xfffffffffffffffful

/* Requires: start-up, one CPU. Ensures: no notification is defined. */
void notify_init(void);

/* Requires: start-up; n < NUM_NOTIFICATION. Ensures: n exists, closed. owner = the process that waits for it. */
void notify_define(uint32_t n, uint32_t owner);
uint32_t notify_owner(uint32_t n); /* NONE if n is not defined */

/* Sets bits. The first waiter, if any, gets all bits and becomes ready; a watching CPU is interrupted. Does not
 * block. Requires: n < NUM_NOTIFICATION is defined, no lock of this layer or above held. */
void notify_signal(uint32_t n, uint64_t bits);

/* Waits until a bit is set, moves all bits to the saved rdi and STATUS_OK to the saved rax; or ERR_TIMEOUT once the
 * clock has passed deadline (ns since boot; NOTIFY_FOREVER: never; one in the past: at once); or ERR_CANCELLED. On
 * errors bits and rdi are unchanged. Returns 1 if the thread was switched to and may go back to user mode at once,
 * because no reschedule is pending; else 0. Requires: no lock held. */
uint32_t notify_wait(uint32_t n, uint64_t deadline);

/* The same with a deadline that is not NOTIFY_FOREVER; a reschedule may be pending afterwards. */
void notify_wait_until(uint32_t n, uint64_t deadline);

/* notify_signal(signalled, bits) and then notify_wait(n, NOTIFY_FOREVER). If the current thread blocks, the CPU switches
 * directly to the signalled waiter, provided that it belongs to this CPU and no thread of higher priority is ready. */
uint32_t notify_signal_wait(uint32_t signalled, uint64_t bits, uint32_t n);

/* Returns and clears all bits; 0 if none is set. */
uint64_t notify_poll(uint32_t n);

/* 1 if a bit is set, else 0. */
uint32_t notify_pending(uint32_t n);

/* Called before a thread on this CPU runs a guest until n is signalled: until notify_unwatch a signal sends
 * VECTOR_RESCHEDULE to this CPU. Returns 1 if a bit is set already (the guest need not be entered), else 0. */
uint32_t notify_watch(uint32_t n);
void notify_unwatch(uint32_t n);

/* Called when the owner is created, and when it ends, before its children do: between two lives signals are lost, and each
 * begins without a bit. Requires that no thread of the owner waits. */
void notify_open(uint32_t n);
void notify_close(uint32_t n);

/* Requires: t belongs to this CPU and does not run. Ensures: if t waits here, its wait ends with ERR_CANCELLED
 * (notify_cancel) or ERR_TIMEOUT (notify_timeout), unless it was signalled just before. Returns 1 if it has
 * ended a wait, else 0. Then t is ready by now (notify_cancel), or the caller makes it ready (notify_timeout). */
uint32_t notify_cancel(uint32_t t);
uint32_t notify_timeout(uint32_t t);

uint32_t notify_check(void);

#endif
