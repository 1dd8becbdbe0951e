/* The scheduler: 256 priorities, first-in first-out within one with a time slice, per CPU; budgets per process.
 *
 * Each CPU owns its ready queues, deadlines and budgets: no lock, interrupts are off. A wake-up from another CPU goes
 * through the pending queue of the thread's CPU (LOCK_PENDING_BASE + cpu) and VECTOR_RESCHEDULE.
 * The running thread is in no queue; the idle threads never are. The alarm of a CPU is never later than its next event
 * (deadline, end of slice, end of budget, replenishment); it may be earlier. */
#ifndef ASHLAR_SCHED_H
#define ASHLAR_SCHED_H

#include <stdint.h>

#include "config.h"

#define SCHED_SLICE_NS 5000000ul        /* turn of a thread while others of its priority wait */
#define SCHED_PERIOD_MAX_NS 10000000000ul
#define SCHED_BUDGET_MIN_NS 10000ul     /* smaller pieces of budget are put together with the next */

/* Requires: start-up, one CPU runs. Ensures: nothing is ready, no deadline, no budget. */
void sched_init(void);

/* Requires: this CPU starts; its idle thread is current. Ensures: the idle thread is its running thread. */
void sched_init_cpu(void);

/* Requires: start-up; p < NUM_PROCESS, 0 < budget_ns <= period_ns <= SCHED_PERIOD_MAX_NS; or period_ns 0: no limit.
 * Ensures: in any time of period_ns, threads of p run at most budget_ns on each CPU (counted until the alarm is served). */
void sched_set_budget(uint32_t p, uint64_t period_ns, uint64_t budget_ns);

/* Nanoseconds p has run on this CPU; 0 if p has no budget (its time is not counted). */
uint64_t sched_used_ns(uint32_t p);

/* ---- blocking and waking ---- */

/* Marks the current thread blocked. Requires: the lock of the object it waits on is held, so that who wakes it comes
 * later. The caller must release the lock and call sched_block or sched_switch_to next. */
void sched_prepare_block(void);

/* Runs the next thread. Requires: sched_prepare_block was called; no lock held. Returns when the thread runs again. */
void sched_block(void);

/* Makes the blocked thread t ready. Requires: t is marked blocked and not woken since; any lock above this layer may be
 * held. On its own CPU it runs at the next sched_leave if it is more important; else its CPU is interrupted. */
void sched_ready(uint32_t t);

/* Hands the processor to t. Requires as sched_block, and as sched_ready for t. Runs t directly if t belongs to this CPU,
 * has budget, nobody more important is ready, and nothing else is to be decided; else as sched_ready(t) and sched_block(). */
void sched_switch_to(uint32_t t);

/* The current thread goes behind the others of its priority at the next sched_leave. */
void sched_yield(void);

/* On the way out of the kernel: while a more important thread is ready, or the turn or the budget of the current one is
 * over, others run. Returns 1 if that had to be decided, else 0. Requires: no lock held, current not marked blocked. */
uint32_t sched_leave(void);

/* The current thread ends. Requires: no lock held, it is in no queue and waits for nothing. Does not return. */
void sched_exit_current(void);

/* Takes over some of what other CPUs woke. Call it on VECTOR_RESCHEDULE, which comes again while there may be more. */
void sched_drain_pending(void);

/* Gives t the highest priority and frees it of its budget until sched_unboost or its next life, so that it reaches the end
 * of its system call soon. Requires: t belongs to this CPU and is not idle. */
void sched_boost(uint32_t t);

/* The current thread is back at its own priority and budget (long work such as teardown). */
void sched_unboost(void);

/* ---- time ---- */

/* Sets (replaces) the deadline of t, ns since boot. Requires: t belongs to this CPU and is not idle. */
void sched_set_deadline(uint32_t t, uint64_t deadline_ns);

/* Requires: t belongs to this CPU. Ensures: t has no deadline. */
void sched_clear_deadline(uint32_t t);

/* Takes a thread of this CPU whose deadline has passed: it has none any more. NONE if there is none. */
uint32_t sched_take_expired(void);

/* Call it on VECTOR_TIMER, before sched_take_expired: ends slices and budgets, replenishes, sets the next alarm. */
void sched_timer_interrupt(void);

uint32_t sched_check(void);

#endif
