/* The scheduler: 256 priorities, first-in first-out within one with a time slice, per CPU; budgets per process.
 *
 * Each CPU owns its ready queues, deadlines and budgets: no lock, interrupts are off. A wake-up from another CPU
 * goes through the pending queue of the thread's CPU (LOCK_SCHED_PENDING_BASE + cpu) and VECTOR_RESCHEDULE. The
 * running thread and the idle threads are in no queue. The alarm of a CPU is never later than its next event
 * (deadline, end of slice, end of budget, refill); it may be earlier. */
#ifndef ASHLAR_SCHED_H
#define ASHLAR_SCHED_H

#include <stdint.h>

#include "config.h"

#define SCHED_SLICE_NS 5000000ul /* time slice while other threads of the same priority are ready */
#define SCHED_PERIOD_MAX_NS 10000000000ul
#define SCHED_BUDGET_MIN_NS 10000ul /* refills smaller than this merge with the next one */

/* Requires: start-up, one CPU runs. Ensures: nothing is ready, no deadline, no budget. */
void sched_init(void);

/* Requires: this CPU is starting, its idle thread is current. Ensures: the scheduler of this CPU is ready and runs
 * the idle thread. */
void sched_init_cpu(void);

/* Requires: start-up; p < NUM_PROCESS, 0 < budget_ns <= period_ns <= SCHED_PERIOD_MAX_NS; or period_ns 0: no limit.
 * Ensures: in any interval of period_ns, threads of p run at most budget_ns on each CPU, plus the delay until the
 * alarm is served. */
void sched_set_budget(uint32_t p, uint64_t period_ns, uint64_t budget_ns);

/* Nanoseconds p has run on this CPU; 0 if p has no budget (its time is not counted). */
uint64_t sched_used_ns(uint32_t p);

/* ---- blocking and waking ---- */

/* Marks the current thread blocked. Requires: the lock of the object it waits on is held, so that no other CPU wakes
 * it before. The caller must release the lock and call sched_block or sched_switch_to next. */
void sched_prepare_block(void);

/* Runs the next thread. Requires: sched_prepare_block was called; no lock held. Returns when the thread runs again. */
void sched_block(void);

/* Makes the blocked thread t ready. Requires: t is marked blocked and has not been woken since; locks of layers above
 * may be held. If t belongs to this CPU and has a higher priority than the current thread, it runs at the next
 * sched_leave; if it belongs to another CPU, that CPU is interrupted. */
void sched_ready(uint32_t t);

/* Switches directly to t. Requires as sched_block, and as sched_ready for t. If t belongs to another CPU, has no
 * budget, a thread of higher priority is ready, or a reschedule is pending, it does sched_ready(t) and sched_block()
 * instead. */
void sched_switch_to(uint32_t t);

/* At the next sched_leave the current thread goes to the end of the ready queue of its priority. */
void sched_yield(void);

/* Called on kernel exit: if a thread of higher priority is ready, or the slice or budget of the current thread is
 * over, runs other threads first. Returns 1 if a reschedule was pending, else 0. Requires: no lock held, the current
 * thread is not marked blocked. */
uint32_t sched_leave(void);

/* Ends the current thread. Requires: no lock held, it is in no queue and waits for nothing. Does not return. */
void sched_exit_current(void);

/* Makes some of the threads ready that other CPUs have woken. To be called on VECTOR_RESCHEDULE, which is sent again
 * while there may be more. */
void sched_drain_pending(void);

/* Gives t the highest priority and exempts it from its budget until sched_unboost or until it is started again, so
 * that it finishes its system call soon. Requires: t belongs to this CPU and is not idle. */
void sched_boost(uint32_t t);

/* The current thread returns to its base priority and budget, for long work such as teardown. */
void sched_unboost(void);

/* ---- time ---- */

/* Sets (replaces) the deadline of t, ns since boot. Requires: t belongs to this CPU and is not idle. */
void sched_set_deadline(uint32_t t, uint64_t deadline_ns);

/* Requires: t belongs to this CPU. Ensures: t has no deadline. */
void sched_clear_deadline(uint32_t t);

/* Returns a thread of this CPU whose deadline has passed and clears that deadline; NONE if there is none. */
uint32_t sched_take_expired(void);

/* To be called on VECTOR_TIMER, before sched_take_expired: ends slices and budgets, serves refills, sets the next
 * alarm. */
void sched_timer_interrupt(void);

uint32_t sched_check(void);

#endif
