/* The scheduler: 256 priorities, first-in first-out within one with a time slice, per CPU; reservations of threads.
 *
 * A thread may have a reservation: a budget of time for each period. It is ready only while it has budget left; when
 * the budget ends, the alarm's interrupt parks the thread until its next period. (If a device's line takes the processor from it
 * just then, the interrupt does so that comes at once when it is chosen next.) So ready queues hold only threads
 * that may run, and choosing one takes the same time however many threads there are. A thread without a reservation
 * that is called by one of its CPU borrows the caller's until it replies, with one budget in advance; else its time is
 * not limited.
 *
 * Each CPU owns its ready queues, events and reservations: no lock, interrupts are off. A wake-up from another CPU
 * goes through the pending queue of the thread's CPU (LOCK_SCHED_PENDING_BASE + cpu) and VECTOR_RESCHEDULE. The
 * running thread and the idle threads are in no queue. The alarm of a CPU is never later than its next event
 * (timeout, end of slice, end of budget, release); it may be earlier. */
#ifndef ASHLAR_SCHED_H
#define ASHLAR_SCHED_H

#include <stdint.h>

#include "config.h"

#define SCHED_SLICE_NS 5000000ul /* time slice while other threads of the same priority are ready */
#define SCHED_PERIOD_MAX_NS 10000000000ul
#define SCHED_BUDGET_MIN_NS 10000ul /* a shorter budget would be spent on its alarms */

/* Requires: start-up, one CPU runs. Ensures: nothing is ready, no deadline, no reservation. */
void sched_init(void);

/* Requires: this CPU is starting, its idle thread is current. Ensures: the scheduler of this CPU is ready and runs
 * the idle thread. */
void sched_init_cpu(void);

/* Gives t a reservation. Requires: start-up; NUM_CPU <= t < NUM_THREAD, SCHED_BUDGET_MIN_NS <= budget_ns <= period_ns <=
 * SCHED_PERIOD_MAX_NS. Ensures: while t is ready and no more important thread is, it runs at least budget_ns in each
 * of its periods; t and the threads that borrow from it run at most budget_ns in each, plus what those that borrow spend in
 * advance, at most budget_ns, and the delay until the alarm is served: both are taken from later periods. */
void sched_reserve(uint32_t t, uint64_t period_ns, uint64_t budget_ns);

/* Nanoseconds of t's reservation that have been spent; 0 if it has none. Requires: t belongs to this CPU. */
uint64_t sched_used_ns(uint32_t t);

/* ---- blocking and waking ---- */

/* Marks the current thread blocked. Requires: the lock of the object it waits on is held, so that no other CPU wakes
 * it before. The caller must release the lock and call sched_block or sched_switch_to next. */
void sched_prepare_block(uint32_t current);

/* Runs the next thread. Requires: sched_prepare_block was called; no lock held. Returns when the thread runs again. */
void sched_block(void);

/* As sched_block, for callers that go to user mode next: no reschedule is pending then. */
void sched_block_to_leave(void);

/* Makes the blocked thread t ready. Requires: t is marked blocked and has not been woken since; locks of layers above
 * may be held. If t belongs to this CPU and has a higher priority than the current thread, it runs at the next
 * sched_decide; if it belongs to another CPU, that CPU is interrupted. */
void sched_ready(uint32_t t);

/* The same for a thread of another CPU: queues it for that CPU. */
void sched_ready_remote(uint32_t t);

/* Switches directly to t, for callers that go to user mode next. Requires as sched_block, and as sched_ready for t. If t
 * belongs to another CPU, has no time left, a thread of higher priority is ready, or a reschedule is pending, it does
 * sched_ready(t) and sched_block() instead. */
void sched_switch_to(uint32_t t);

/* As sched_switch_to, to a server whose reply the current thread waits for: t borrows as by sched_borrow. */
void sched_call(uint32_t t);

/* As sched_switch_to, to a thread that the current thread has replied to: see sched_repay. */
void sched_reply(uint32_t t);

/* To be called behind these three, when the thread runs again, by callers that do not go to user mode next. */
void sched_resumed(void);

/* The current thread serves `from`: if it has no reservation and `from` is a thread of this CPU, it spends from now on
 * what `from` spends. Requires: `from` waits for its reply. */
void sched_borrow(uint32_t from);

/* The current thread has replied: it spends its own reservation again, or none. */
void sched_repay(void);

/* As sched_repay for `server`, when the wait of the thread it serves is cancelled; nothing if `server` belongs to
 * another CPU. */
void sched_revoke(uint32_t server);

/* At the next sched_decide the current thread goes to the end of the ready queue of its priority. */
void sched_yield(void);

/* As sched_decide, but only if this is to hand over to a thread that was woken and is more important than all others, and
 * neither it nor the current thread has a reservation. Returns 1, when the current thread runs again; or 0, with nothing
 * changed. Requires: as sched_decide. */
uint32_t sched_hand_over(void);

/* The thread that was woken and is to run next, if it is more important than all others; else NONE. */
uint32_t sched_woken(void);

/* As sched_decide, where that is to hand over to `next`. Requires: as sched_decide; sched_woken has returned it. */
void sched_hand_over_to(uint32_t next);

/* What the kernel does between these two for others, such as serving interrupts, is charged to no reservation. */
void sched_pause_charge(void);
void sched_resume_charge(void);

/* Reschedules: if a thread of higher priority is ready, or the slice or budget of the current thread is over, runs other
 * threads first. Requires: a reschedule is pending, no lock held, the current thread is not marked blocked. */
void sched_decide(void);

/* Ends the current thread. Requires: no lock held, it is in no queue, waits for nothing and has no deadline, and has left the
 * vector unit. Does not return. */
void sched_exit_current(void);

/* Makes one of the threads ready that other CPUs have woken. To be called on VECTOR_RESCHEDULE, which this CPU sends
 * itself again while there are more, so that other interrupts can be served in between. */
void sched_drain_pending(void);

/* Gives t the highest priority and unlimited time until sched_unboost or until it is started again, so that it
 * finishes its system call soon. Requires: t belongs to this CPU and is not idle. */
void sched_boost(uint32_t t);

/* The current thread returns to its base priority and reservation, for long work such as teardown. */
void sched_unboost(void);

/* ---- time ---- */

/* Sets (replaces) the deadline of t, ns since boot. Requires: t belongs to this CPU and is not idle. */
void sched_set_deadline(uint32_t t, uint64_t deadline_ns);

/* Requires: t belongs to this CPU. Ensures: t has no deadline. */
void sched_clear_deadline(uint32_t t);

/* To be called on VECTOR_TIMER: ends slices and budgets, takes the earliest event if its time has come, sets the next
 * alarm. Returns that event, which the caller serves, or NONE: less than NUM_THREAD, it is the thread whose deadline this
 * was, and which has none any more; else it is for sched_release. If more events are due, the alarm comes again at once, so
 * that other interrupts can be served in between. */
uint32_t sched_timer_interrupt(void);

/* Serves an event that is no deadline: the next period of a thread begins that had no time left. Requires:
 * sched_timer_interrupt has just returned it. */
void sched_release(uint32_t event);

uint32_t sched_check(void);

#endif
