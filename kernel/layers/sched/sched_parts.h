/* Private to the scheduler. All state belongs to one CPU (interrupts off, no lock); cpu is always the CPU that runs
 * this, t one of its threads that is not idle. */
#ifndef ASHLAR_SCHED_PARTS_H
#define ASHLAR_SCHED_PARTS_H

#include <stdint.h>

/* ---- sched_ready.c: ready queues and their bitmap ---- */
void sched_ready_init(void);

/* Requires: t is in no queue. Ensures: t is marked ready and is the last of the ready queue of its priority. */
void sched_ready_insert(uint32_t cpu, uint32_t t);

/* Requires: t is in a ready queue. Ensures: it is in none; it is still marked ready. */
void sched_ready_remove(uint32_t cpu, uint32_t t);

/* Removes the first thread of the highest priority and marks it running; NONE if no thread is ready. */
uint32_t sched_ready_take(uint32_t cpu);

/* Requires: t is in no queue; q is a queue of parked threads. Ensures: t is marked parked and is the last of q. */
void sched_ready_park(uint32_t q, uint32_t t);

/* Highest priority of a ready thread plus 1; 0 if no thread is ready. */
uint32_t sched_ready_best(uint32_t cpu);

uint32_t sched_ready_check(uint32_t cpu);

/* ---- sched_alarm.c ---- */
void sched_alarm_init(void);

/* Ensures: the alarm fires at `when` or earlier. */
void sched_alarm_want(uint32_t cpu, uint64_t when);

/* Records that the alarm has fired and none is set. */
void sched_alarm_gone(uint32_t cpu);

/* The time of the alarm, TIMER_NEVER if none is set. */
uint64_t sched_alarm_at(uint32_t cpu);

/* ---- sched_deadline.c ---- */
void sched_deadline_init(void);

/* Requires: t ended. Ensures: it has no deadline. */
void sched_deadline_remove(uint32_t cpu, uint32_t t);

/* The earliest deadline, TIMER_NEVER if there is none. */
uint64_t sched_deadline_first(uint32_t cpu);

uint32_t sched_deadline_check(uint32_t cpu);

/* ---- sched_budget.c ---- */
void sched_budget_init(void);

/* 1 if t may run now: its process has no limit or some budget left, or t is boosted. Else 0. */
uint32_t sched_budget_has(uint32_t cpu, uint32_t t);

/* 0 if neither t nor the process charged now is limited: then sched_budget_has(cpu, t) is 1 and
 * sched_budget_switch(cpu, t) does nothing. */
uint32_t sched_budget_concerns(uint32_t cpu, uint32_t t);

/* Charges t's process from now on; t may be idle. Ensures: the alarm fires when its budget ends. */
void sched_budget_switch(uint32_t cpu, uint32_t t);

/* Parks t, which is ready but has no budget, until its process has a refill. Requires: sched_budget_has(cpu, t) was
 * 0. */
void sched_budget_park(uint32_t cpu, uint32_t t);

/* Exempts t from its budget (1) or not (0). Requires: t is in no ready queue. */
void sched_budget_exempt(uint32_t cpu, uint32_t t, uint32_t exempt);

/* Requires: t is parked. Ensures: it is in no queue. */
void sched_budget_unpark(uint32_t cpu, uint32_t t);

/* Charges the time up to now, makes parked threads ready that have budget again, sets the alarm for the next event.
 * Returns 1 if the budget of the running thread is used up, else 0. */
uint32_t sched_budget_timer(uint32_t cpu, uint64_t now);

uint32_t sched_budget_check(uint32_t cpu);

/* ---- sched_pick.c ---- */

/* Chooses the next thread and marks it running: the first of the highest priority that has budget, or the idle
 * thread. Ready threads without budget are parked. Requires: the current thread is not marked running. */
uint32_t sched_pick(uint32_t cpu);

/* Puts the preempted thread at the end of its ready queue, or parks it if it has no budget. */
void sched_put_back(uint32_t cpu, uint32_t current);

/* ---- sched.c ---- */

/* Puts t, which is in no queue, into its ready queue, and requests a reschedule if it should preempt the running
 * thread. */
void sched_insert(uint32_t cpu, uint32_t t);

/* The rest are slow paths of functions on the message path, not inlined into it (arch/x86_64/inlining.h). */

/* Begins a slice if a thread of the same priority is ready and none has begun. */
void sched_begin_slice(uint32_t cpu);

/* Makes t ready instead of switching to it directly, and blocks the current thread. */
void sched_queue_and_block(uint32_t t);

/* The budget's part of a direct switch. Returns 1 if t may run, 0 if it has no budget. */
uint32_t sched_hand_over_budget(uint32_t cpu, uint32_t t);

/* Reschedules. Requires: arch_need_resched() is 1. */
void sched_decide(uint32_t cpu);

/* Makes one parked thread of p ready if p has budget again, else waits for its next refill. Requires: bit p of
 * `waiting` is set. Ensures: it is cleared if nothing is left to do for p now. */
void sched_replenish(uint32_t cpu, uint32_t p, uint64_t now);

#endif
