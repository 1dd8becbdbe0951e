/* Condition variables: first-in first-out queues of threads that wait for their turn on a shared object.
 *
 * A woken waiter keeps its place in the queue and leaves it itself, when its operation is done. So no later thread
 * can overtake it between wake-up and operation, and no wake-up is lost. The textbook version, where the signaller
 * removes the waiter from the queue, has both faults.
 *
 * Each variable is guarded by the lock of the object that uses it (bounded buffer cv / 2); every function here but
 * cv_init requires that the caller holds that lock. */
#ifndef ASHLAR_CV_H
#define ASHLAR_CV_H

#include <stdint.h>

#include "config.h"

/* Requires: start-up, one CPU. Ensures: every queue is empty. */
void cv_init(void);

/* Requires: cv < NUM_CV; the current thread is in no cv queue. Ensures: it is the last of cv's queue. */
void cv_join(uint32_t cv);

/* Requires: cv < NUM_CV. Returns the thread whose turn it is, or NONE. */
uint32_t cv_first(uint32_t cv);

/* Requires: the current thread is in cv's queue. Ensures: it is marked blocked on cv; the caller must release its
 * lock and call sched_block() next. */
void cv_prepare_wait(uint32_t cv);

/* Requires: cv < NUM_CV. Ensures: the first of the queue, if it is blocked, is ready; it stays first. */
void cv_wake_first(uint32_t cv);

/* Requires: the current thread is in a cv queue. Ensures: it is in none, and no longer marked cancelled. */
void cv_leave(void);

/* Requires: t < NUM_THREAD. Returns the queue t is in, or NONE. Needs no lock if t belongs to this CPU. */
uint32_t cv_of(uint32_t t);

/* Requires: t is in a cv queue and does not run. Ensures: its wait is marked cancelled; if it was blocked it is
 * ready. */
void cv_cancel(uint32_t t);

/* Returns 1 if the current thread's wait was cancelled, else 0. */
uint32_t cv_cancelled(void);

/* Invariant walk (debug builds): 0, or the number of the broken invariant. Requires that nothing else runs. */
uint32_t cv_check(void);

#endif
