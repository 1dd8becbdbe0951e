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

/* Requires: t is in no queue; q is this CPU's queue of parked threads. Ensures: t is marked parked and is the last of q. */
void sched_ready_park(uint32_t q, uint32_t t);

/* Highest priority of a ready thread plus 1; 0 if no thread is ready. */
uint32_t sched_ready_best(uint32_t cpu);

uint32_t sched_ready_check(uint32_t cpu);

/* ---- sched_alarm.c ---- */
/* Ensures: the alarm fires at `when` or earlier. */
void sched_alarm_want(uint32_t cpu, uint64_t when);

/* Records that the alarm has fired and none is set. */
void sched_alarm_gone(uint32_t cpu);

/* ---- sched_event.c: events are numbered; t's deadline is event t ---- */
#define SCHED_RELEASE_BASE NUM_THREAD /* + t: t's next period begins */

void sched_event_init(void);

/* Requires: an event of a thread of this CPU that is not set. Ensures: it is set, and the alarm is not later. */
void sched_event_add(uint32_t cpu, uint32_t event, uint64_t when);

/* Requires: an event of a thread of this CPU. Ensures: it is set to this time alone, and the alarm is not later. */
void sched_event_set(uint32_t cpu, uint32_t event, uint64_t when);

/* Requires: an event of a thread of this CPU. Ensures: it is not set. */
void sched_event_remove(uint32_t cpu, uint32_t event);

/* Requires: an event of a thread of this CPU that is a deadline. Ensures: it is not set; its place is free only when its time
 * comes. */
void sched_event_cancel(uint32_t event);

/* The time of an event, TIMER_NEVER if it is not set. */
uint64_t sched_event_when(uint32_t event);

/* The time of the earliest event, cancelled ones among them; TIMER_NEVER if there is none. */
uint64_t sched_event_first(uint32_t cpu);

/* Removes and returns the earliest event if its time has come. Returns NONE if it has not, or the event was cancelled. */
uint32_t sched_event_take(uint32_t cpu, uint64_t now);

uint32_t sched_event_check(uint32_t cpu);

/* ---- sched_budget.c ---- */
void sched_budget_init(void);

/* 1 if t may run now: it spends no reservation, or one with time left. Else 0. */
uint32_t sched_budget_has(uint32_t cpu, uint32_t t);

/* 1 if t has or borrows a reservation, else 0. */
uint32_t sched_budget_limited(uint32_t t);

/* Charges the reservation that t spends from now on; t may be idle. Ensures: the alarm fires when its budget ends. */
void sched_budget_switch(uint32_t cpu, uint32_t t);

/* sched_budget_switch; returns `best`, or ARCH_FLOOR_NONE if a reservation is charged now. */
uint32_t sched_budget_floor(uint32_t cpu, uint32_t t, uint32_t best);

/* Parks t, which has no time left, until its reservation's next period. Requires: sched_budget_has(cpu, t) was 0. */
void sched_budget_park(uint32_t cpu, uint32_t t);

/* Requires: t is parked. Ensures: it is in no queue and has no release event. */
void sched_budget_unpark(uint32_t cpu, uint32_t t);

/* From its next sched_budget_switch on, t's time is unlimited (1) or not (0). */
void sched_budget_exempt(uint32_t t, uint32_t exempt);

/* From its next sched_budget_switch on, t spends what `from` spends, if it has no reservation itself. */
void sched_budget_borrow(uint32_t t, uint32_t from);

/* From its next sched_budget_switch on, t spends its own reservation, or none. */
void sched_budget_take_back(uint32_t t);

/* Charges the time up to now. Returns when the running thread's time ends, which is now if it has none left; TIMER_NEVER
 * if it spends no reservation. */
uint64_t sched_budget_timer(uint32_t cpu, uint64_t now);

uint32_t sched_budget_check(uint32_t cpu);

/* ---- sched_pick.c ---- */

/* Chooses the next thread and marks it running: the first of the highest priority, or the idle thread. Requires: the
 * current thread is not marked running. */
uint32_t sched_pick(uint32_t cpu);

/* Puts the preempted thread at the end of its ready queue, or parks it if it has no time left. */
void sched_put_back(uint32_t cpu, uint32_t current);

/* ---- sched.c ---- */

/* Ensures: the next sched_decide chooses the thread to run. */
void sched_request(void);

/* To be called when the ready queues or the charged reservation have changed: see arch_floor. */
void sched_update_floor(uint32_t cpu);

/* Begins a slice if a thread of the same priority is ready and none has begun. */
void sched_begin_slice(uint32_t cpu);

/* Makes t the running thread and returns 1 if one comparison with arch_floor shows that this is right and that no
 * reservation is concerned: the caller, who has left the vector unit, calls thread_switch_to_user(t) next. Else does nothing and
 * returns 0. */
uint32_t sched_prepare_switch(uint32_t t);

/* sched_switch_to, sched_call and sched_reply where sched_prepare_switch has returned 0. */
void sched_switch_slowly(uint32_t t);
void sched_call_slowly(uint32_t t);
void sched_reply_slowly(uint32_t t);

/* ---- sched_wake.c ---- */
/* Makes t of this CPU ready or parks it; requests a reschedule if it should preempt the running thread. Requires: t is
 * marked blocked and in no queue. */
void sched_insert(uint32_t cpu, uint32_t t);

/* Chooses the next thread as sched_pick does, or the one that sched_insert has kept for it. */
uint32_t sched_next(uint32_t cpu);

/* Takes the kept thread, which is there, and marks it running. */
void sched_wake_take(uint32_t cpu);

#endif
