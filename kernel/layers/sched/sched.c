/* The scheduler: blocking, direct switches, the decision on the way out, boosts, the alarm. See sched.h. */
#include "sched.h"

#include "arch.h"
#include "queue.h"
#include "sched_cpu.h"
#include "sched_parts.h"
#include "thread.h"
#include "timer.h"
#include "trace.h"

void sched_init(void)
{
    sched_cpu_init();
    sched_ready_init();
    sched_event_init();
    sched_budget_init();
}

void sched_init_cpu(void)
{
    uint32_t cpu = arch_cpu();
    thread_set_state(cpu, THREAD_RUNNING);
    sched_cpu_set_running(cpu, 0u);
    arch_set_need_resched(0u);
    sched_update_floor(cpu);
}

void sched_request(void)
{
    arch_set_need_resched(1u);
    arch_set_floor(ARCH_FLOOR_NONE);
}

void sched_update_floor(uint32_t cpu)
{
    uint32_t need_resched = arch_need_resched();
    uint32_t charged = sched_cpu_charged(cpu);
    uint32_t floor = ARCH_FLOOR_NONE;
    if (need_resched == 0u && charged == NONE) {
        floor = sched_ready_best(cpu);
    }
    arch_set_floor(floor);
}

void sched_begin_slice(uint32_t cpu)
{
    uint32_t best = sched_ready_best(cpu);
    uint32_t running = sched_cpu_running(cpu);
    uint64_t end = sched_cpu_slice_end(cpu);
    if (best == running && best != 0u && end == TIMER_NEVER) {
        uint64_t now = timer_now();
        sched_cpu_set_slice_end(cpu, now + SCHED_SLICE_NS);
        sched_alarm_want(cpu, now + SCHED_SLICE_NS);
    }
}

/* No switch happens while a reschedule is pending: sched_run has cleared the mark, and sched_switch_to goes through the
 * ready queues if it is set. So no reschedule is pending when a thread resumes either; clearing the mark lets the
 * timing analysis see that a resumed thread leaves the kernel without another switch. Where nothing follows a switch but
 * the way to user mode, the mark is not looked at, and the compiler leaves the kernel directly from the switch. */
void sched_resumed(void)
{
    arch_set_need_resched(0u);
}

static void sched_switch(uint32_t t)
{
    thread_switch(t);
    sched_resumed();
}

/* The time of the next thread is charged from now on. Returns the floor that holds while it runs. */
static uint32_t sched_account_for(uint32_t cpu, uint32_t next, uint32_t best)
{
    uint32_t limited = sched_budget_limited(next);
    uint32_t charged = sched_cpu_charged(cpu);
    if (limited == 0u && charged == NONE) {
        return best;
    }
    uint32_t floor = sched_budget_floor(cpu, next, best);
    return floor;
}

/* Runs next, which sched_next has chosen. Returns when the current thread runs again: no reschedule is pending then. */
static void sched_run(uint32_t cpu, uint32_t next)
{
    uint32_t current = thread_current();
    uint32_t best = sched_ready_best(cpu);
    uint32_t running = 0u;
    if (next >= NUM_CPU) {
        uint32_t priority = thread_priority(next);
        running = priority + 1u;
    }
    sched_cpu_set_running(cpu, running);
    sched_cpu_set_slice_over(cpu, 0u);
    sched_cpu_set_slice_end(cpu, TIMER_NEVER);
    arch_set_need_resched(0u);
    if (running == best) {
        sched_begin_slice(cpu);
    }
    uint32_t floor = sched_account_for(cpu, next, best);
    arch_set_floor(floor);
    if (next != current) {
        thread_switch(next);
    }
}

void sched_prepare_block(uint32_t current)
{
    thread_set_state(current, THREAD_BLOCKED);
}

void sched_block(void)
{
    uint32_t cpu = arch_cpu();
    uint32_t next = sched_next(cpu);
    sched_run(cpu, next);
    sched_resumed();
}

void sched_block_to_leave(void)
{
    uint32_t cpu = arch_cpu();
    uint32_t next = sched_next(cpu);
    sched_run(cpu, next);
}

void sched_switch_slowly(uint32_t t)
{
    uint32_t cpu = arch_cpu();
    uint32_t home = thread_cpu(t);
    uint32_t need_resched = arch_need_resched();
    uint32_t running = 0u;
    uint32_t has = 0u;
    /* Only a thread's own CPU reads its priority: that CPU may be raising it. */
    if (home == cpu && need_resched == 0u) {
        uint32_t priority = thread_priority(t);
        uint32_t best = sched_ready_best(cpu);
        running = priority + 1u;
        if (running >= best) {
            has = sched_budget_has(cpu, t);
            if (has == 0u) {
#if TRACE
                trace_event(TRACE_WAKE, t);
#endif
                sched_budget_park(cpu, t);
                sched_block_to_leave();
                return;
            }
        }
    }
    if (has == 0u) {
        sched_ready(t);
        sched_block_to_leave();
        return;
    }
    thread_set_state(t, THREAD_RUNNING);
    sched_cpu_set_running(cpu, running);
    sched_begin_slice(cpu);
    sched_budget_switch(cpu, t);
    sched_update_floor(cpu);
    thread_switch(t);
}

uint32_t sched_prepare_switch(uint32_t t)
{
    uint32_t cpu = arch_cpu();
    uint32_t home = thread_cpu(t);
    if (home != cpu) {
        return 0u;
    }
    uint32_t priority = thread_priority(t);
    uint32_t limited = sched_budget_limited(t);
    uint32_t floor = arch_floor();
    if (priority < floor || limited == 1u) {
        return 0u;
    }
    /* t continues the slice of the current thread: two threads that call each other cannot keep others of their
     * priority waiting. */
    thread_set_state(t, THREAD_RUNNING);
    sched_cpu_set_running(cpu, priority + 1u);
    return 1u;
}

void sched_switch_to(uint32_t t)
{
    uint32_t at_once = sched_prepare_switch(t);
    if (at_once == 1u) {
        thread_switch_to_user(t);
    } else {
        sched_switch_slowly(t);
    }
}

void sched_yield(void)
{
    uint32_t cpu = arch_cpu();
    sched_cpu_set_slice_over(cpu, 1u);
    sched_request();
}

/* Whether another thread must run: a thread of higher priority waits, or the current one's slice is over and one of equal
 * priority is ready; or its budget is spent. */
#define WAY_STAYS 0u
#define WAY_MAKES 1u
#define WAY_SPENT 2u

static uint32_t sched_make_way(uint32_t cpu, uint32_t current)
{
    uint32_t best = sched_ready_best(cpu);
    uint32_t running = sched_cpu_running(cpu);
    uint32_t over = sched_cpu_slice_over(cpu);
    uint32_t next = sched_cpu_kept(cpu);
    if (next != NONE || best > running) {
        return WAY_MAKES;
    }
    if (running == 0u) {
        return WAY_STAYS;
    }
    if (over == 1u && best == running) {
        return WAY_MAKES;
    }
    uint32_t has = sched_budget_has(cpu, current);
    if (has == 0u) {
        return WAY_SPENT;
    }
    return WAY_STAYS;
}

void sched_decide(void)
{
    uint32_t cpu = arch_cpu();
    uint32_t current = thread_current();
    uint32_t way = sched_make_way(cpu, current);
    if (way != WAY_STAYS) {
        if (way == WAY_SPENT) {
            sched_budget_park(cpu, current);
        } else {
            sched_put_back(cpu, current);
        }
        uint32_t next = sched_next(cpu);
        sched_run(cpu, next);
        sched_resumed();
    } else {
        arch_set_need_resched(0u);
        sched_cpu_set_slice_over(cpu, 0u);
        sched_cpu_set_slice_end(cpu, TIMER_NEVER);
        sched_begin_slice(cpu);
        /* Its budget may have ended and a new period begun since: its alarm is gone then. */
        sched_budget_switch(cpu, current);
        sched_update_floor(cpu);
    }
}

uint32_t sched_woken(void)
{
    uint32_t cpu = arch_cpu();
    uint32_t next = sched_cpu_kept(cpu);
    if (next == NONE) {
        return NONE;
    }
    uint32_t priority = thread_priority(next);
    uint32_t best = sched_ready_best(cpu);
    if (best > priority) {
        return NONE;
    }
    return next;
}

uint32_t sched_hand_over(void)
{
    uint32_t cpu = arch_cpu();
    uint32_t current = thread_current();
    uint32_t next = sched_cpu_kept(cpu);
    uint32_t charged = sched_cpu_charged(cpu);
    if (next == NONE || charged != NONE || current < NUM_CPU) {
        return 0u;
    }
    uint32_t limited = sched_budget_limited(next);
    uint32_t priority = thread_priority(next);
    uint32_t before = sched_ready_best(cpu);
    if (limited == 1u || before > priority) {
        return 0u;
    }
    sched_wake_take(cpu);
    sched_ready_insert(cpu, current);
    uint32_t best = sched_ready_best(cpu);
    sched_cpu_set_running(cpu, priority + 1u);
    sched_cpu_set_slice_over(cpu, 0u);
    sched_cpu_set_slice_end(cpu, TIMER_NEVER);
    arch_set_need_resched(0u);
    arch_set_floor(best);
    sched_switch(next);
    return 1u;
}

void sched_hand_over_to(uint32_t next)
{
    uint32_t cpu = arch_cpu();
    uint32_t current = thread_current();
    sched_wake_take(cpu);
    /* If the current thread's time ends now, it is parked when it runs next: that keeps no one waiting. */
    if (current < NUM_CPU) {
        thread_set_state(current, THREAD_READY);
    } else {
        sched_ready_insert(cpu, current);
    }
    uint32_t priority = thread_priority(next);
    uint32_t best = sched_ready_best(cpu);
    sched_cpu_set_running(cpu, priority + 1u);
    sched_cpu_set_slice_over(cpu, 0u);
    sched_cpu_set_slice_end(cpu, TIMER_NEVER);
    arch_set_need_resched(0u);
    uint32_t floor = sched_account_for(cpu, next, best);
    arch_set_floor(floor);
    sched_switch(next);
}

void sched_exit_current(void)
{
    uint32_t cpu = arch_cpu();
    uint32_t current = thread_current();
    thread_set_state(current, THREAD_EXITED);
    sched_budget_exempt(current, 0u);
    sched_budget_take_back(current);
    arch_fpu_unused();
    uint32_t next = sched_next(cpu);
    sched_run(cpu, next);
}

void sched_boost(uint32_t t)
{
    uint32_t cpu = arch_cpu();
    uint32_t state = thread_state(t);
    if (state != THREAD_READY && state != THREAD_PARKED && state != THREAD_BLOCKED) {
        return;
    }
    if (state == THREAD_READY) {
        sched_ready_remove(cpu, t);
    }
    if (state == THREAD_PARKED) {
        sched_budget_unpark(cpu, t);
    }
    thread_set_priority(t, NUM_PRIORITY - 1u);
    sched_budget_exempt(t, 1u);
    if (state != THREAD_BLOCKED) {
        thread_set_state(t, THREAD_BLOCKED); /* as sched_insert expects a thread that is in no queue */
        sched_insert(cpu, t);
    }
}

void sched_unboost(void)
{
    uint32_t cpu = arch_cpu();
    uint32_t current = thread_current();
    uint32_t priority = thread_base_priority(current);
    thread_set_priority(current, priority);
    sched_cpu_set_running(cpu, priority + 1u);
    sched_request();
    sched_budget_exempt(current, 0u);
    sched_budget_switch(cpu, current);
}

void sched_set_deadline(uint32_t t, uint64_t deadline_ns)
{
    uint32_t cpu = arch_cpu();
    sched_event_set(cpu, t, deadline_ns);
}

void sched_clear_deadline(uint32_t t)
{
    sched_event_cancel(t);
}

void sched_release(uint32_t event)
{
    uint32_t cpu = arch_cpu();
    uint32_t t = event - SCHED_RELEASE_BASE;
#if TRACE
    trace_event(TRACE_PERIOD, t);
#endif
    queue_remove(t);
    thread_set_state(t, THREAD_BLOCKED);
    sched_insert(cpu, t);
}

uint32_t sched_timer_interrupt(void)
{
    uint32_t cpu = arch_cpu();
    uint64_t now = timer_now();
    sched_alarm_gone(cpu);
    /* The earliest of three times: the timer is programmed once. */
    uint64_t alarm = sched_budget_timer(cpu, now);
    if (alarm <= now) {
        alarm = TIMER_NEVER;
        sched_request();
    }
    uint64_t end = sched_cpu_slice_end(cpu);
    if (end <= now) {
        end = TIMER_NEVER;
        sched_cpu_set_slice_end(cpu, TIMER_NEVER);
        sched_cpu_set_slice_over(cpu, 1u);
        sched_request();
    }
    uint32_t event = sched_event_take(cpu, now);
    uint64_t first = sched_event_first(cpu);
    if (end < alarm) {
        alarm = end;
    }
    if (first < alarm) {
        alarm = first;
    }
    sched_alarm_want(cpu, alarm);
    return event;
}

#if DEBUG
#include "sched_check.c"
#endif
