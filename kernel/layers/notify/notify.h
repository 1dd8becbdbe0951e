/* Notifications: a word of bits that anyone with the right may set and one process waits for. They carry interrupts and
 * events that must not block the sender. Bits set while nobody waits are kept; setting a bit twice is setting it once.
 *
 * Lock: LOCK_NOTIFICATION_BASE + n guards the word, the queue of waiters, their wait state, and the watch. */
#ifndef ASHLAR_NOTIFY_H
#define ASHLAR_NOTIFY_H

#include <stdint.h>

#include "config.h"

/* A deadline that never comes. */
#define NOTIFY_FOREVER 0xfffffffffffffffful

/* Requires: start-up, one CPU. Ensures: no notification is defined. */
void notify_init(void);

/* Requires: start-up; n < NUM_NOTIFICATION. Ensures: n exists, no bit set. owner = the process that waits for it. */
void notify_define(uint32_t n, uint32_t owner);
uint32_t notify_owner(uint32_t n); /* NONE if n is not defined */

/* Sets bits. A waiter, if any, takes all bits and is ready; a watching CPU is interrupted. Does not block.
 * Requires: n < NUM_NOTIFICATION is defined, no lock of this layer or above held. */
void notify_signal(uint32_t n, uint64_t bits);

/* Waits until a bit is set, takes all bits (saved rdi) and leaves STATUS_OK in the saved rax; or ERR_TIMEOUT once the
 * clock has passed deadline (ns since boot; NOTIFY_FOREVER: never; one in the past: at once); or ERR_CANCELLED. On errors
 * no bit is taken and rdi keeps its value. Requires: no lock held. */
void notify_wait(uint32_t n, uint64_t deadline);

/* notify_signal(signalled, bits) and then notify_wait(n, deadline). A waiter of this CPU that was signalled gets the
 * processor directly if the current thread blocks and nobody more important is ready. */
void notify_signal_wait(uint32_t signalled, uint64_t bits, uint32_t n, uint64_t deadline);

/* Takes all bits, 0 if none is set. */
uint64_t notify_poll(uint32_t n);

/* 1 if a bit is set, else 0. */
uint32_t notify_pending(uint32_t n);

/* A thread on this CPU is about to run a guest until n is signalled: from now on a signal sends VECTOR_RESCHEDULE to this
 * CPU. Returns 1 if a bit is set already (the guest need not be entered), else 0. notify_unwatch ends it. */
uint32_t notify_watch(uint32_t n);
void notify_unwatch(uint32_t n);

/* The owner ended: bits are dropped. Requires that no thread of the owner waits. */
void notify_reset(uint32_t n);

/* Requires: t belongs to this CPU and does not run. Ensures: if t waits here, its wait ends with ERR_CANCELLED
 * (notify_cancel) or ERR_TIMEOUT (notify_timeout), unless it was signalled just before. Returns 1 if t blocks here (it is
 * ready by now), 0 if it waits for something else or for nothing. */
uint32_t notify_cancel(uint32_t t);
uint32_t notify_timeout(uint32_t t);

uint32_t notify_check(void);

#endif
