/* Threads: what each is, what it waits for, and switching from one to another. The boot table assigns each thread to
 * one process and one CPU for good. Threads 0 .. NUM_CPU - 1 are the idle threads; they belong to no process.
 *
 * process, cpu and the base priority are constant after start-up. state and priority are touched by the thread's CPU
 * only. The wait state is guarded by the lock of the object waited on. */
#ifndef ASHLAR_THREAD_H
#define ASHLAR_THREAD_H

#include <stdint.h>

#include "config.h"

#define THREAD_UNUSED 0u  /* never started */
#define THREAD_READY 1u   /* in a ready queue of its CPU */
#define THREAD_RUNNING 2u /* current on its CPU, in no ready queue */
#define THREAD_BLOCKED 3u /* waits, or is marked and about to call sched_block */
#define THREAD_PARKED 4u  /* ready, but its reservation has no budget left in this period */
#define THREAD_EXITED 5u

#define WAIT_NONE 0u
#define WAIT_SLEEP 1u
#define WAIT_ENDPOINT_SEND 2u /* object = endpoint */
#define WAIT_ENDPOINT_RECV 3u
#define WAIT_REPLY 4u
#define WAIT_NOTIFICATION 5u /* object = its lock: no other object has such a number */
#define WAIT_CV 6u           /* object = condition variable */
#define WAIT_PROCESS 7u      /* object = process that is to become EMPTY */

/* Requires: start-up, one CPU runs. Ensures: no thread is defined but the idle threads; idle thread c is current
 * on CPU c. */
void thread_init(void);

/* Requires: start-up; NUM_CPU <= t < NUM_THREAD, process < NUM_PROCESS, cpu < NUM_CPU, priority < NUM_PRIORITY. */
void thread_define(uint32_t t, uint32_t process, uint32_t cpu, uint32_t priority);

/* Gives t a fresh kernel stack: its first switch runs trap_leave. From now on t runs in the page map with this root;
 * NONE: in any loaded map. Requires: t is unused or exited, and this is its CPU; the map is its process's, and is not
 * destroyed before t has called thread_leave_space. Ensures: t is blocked, waits for no object, and has its base
 * priority; sched_ready starts it. */
void thread_reset(uint32_t t, uint32_t root);

/* The thread that runs on this CPU. */
uint32_t thread_current(void);

/* All of the following require t < NUM_THREAD. */
uint32_t thread_process(uint32_t t); /* NONE for an idle thread */
uint32_t thread_cpu(uint32_t t);
uint32_t thread_priority(uint32_t t);
uint32_t thread_base_priority(uint32_t t);
void thread_set_priority(uint32_t t, uint32_t priority); /* requires: t's CPU, t in no ready queue */
uint32_t thread_state(uint32_t t);
void thread_set_state(uint32_t t, uint32_t state);
uint32_t thread_wait_kind(uint32_t t);
uint32_t thread_wait_object(uint32_t t);
void thread_set_wait(uint32_t t, uint32_t kind, uint32_t object);

/* Ends t's wait: kind WAIT_NONE. The object is unchanged: only t's own CPU writes it, so that CPU may read it without
 * the object's lock. */
void thread_end_wait(uint32_t t);
void thread_set_wait_kind(uint32_t t, uint32_t kind); /* next phase of the wait for the same object */

/* 1 if t has called the end of itself since it was started, or its process is dying: it does not reach user mode again.
 * Touched by t's CPU only. */
uint32_t thread_ending(uint32_t t);
void thread_set_ending(uint32_t t);

/* The frame of t's message page, or NONE. Written before t runs. */
uint32_t thread_message_frame(uint32_t t);
void thread_set_message_frame(uint32_t t, uint32_t frame);

/* Switches from the current thread to `to` and its page map. Returns when this thread runs again. Requires: to
 * belongs to this CPU and is not current; no lock held. */
void thread_switch(uint32_t to);

/* The same for a thread that goes back to user mode: one that has not called thread_leave_space and is not idle. Requires also:
 * arch_fpu_left() is 1. */
void thread_switch_to_user(uint32_t to);

/* The current thread no longer uses its process's page map: this CPU leaves the map now and at every later switch to
 * the thread. */
void thread_leave_space(void);

uint32_t thread_check(void);

#endif
