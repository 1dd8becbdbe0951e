/* The scheduler: choosing the next thread, blocking, waking, direct switches. See sched.h. */
#include "sched.h"

#include "arch.h"
#include "intc.h"
#include "queue.h"
#include "sched_parts.h"
#include "spinlock.h"
#include "thread.h"
#include "timer.h"

/* One cache line each, touched by its CPU only. */
struct sched_cpu {
    uint32_t running;    /* priority of the running thread plus 1; 0 while idle */
    uint32_t slice_over; /* 1: the running thread's slice is over or it yielded */
    uint64_t slice_end;  /* end of the running thread's slice; TIMER_NEVER: no thread of its priority waits */
    uint64_t spare[6];
};

static struct sched_cpu sched_cpu[NUM_CPU];

void sched_init(void)
{
    for (uint32_t cpu = 0u; cpu < NUM_CPU; cpu = cpu + 1u) {
        sched_cpu[cpu].running = 0u;
        sched_cpu[cpu].slice_over = 0u;
        sched_cpu[cpu].slice_end = TIMER_NEVER;
    }
    arch_set_need_resched(0u);
    sched_ready_init();
    sched_alarm_init();
    sched_deadline_init();
    sched_budget_init();
}

void sched_init_cpu(void)
{
    uint32_t cpu = arch_cpu();
    thread_set_state(cpu, THREAD_RUNNING);
    sched_cpu[cpu].running = 0u;
}

void sched_begin_slice(uint32_t cpu)
{
    uint32_t best = sched_ready_best(cpu);
    if (best == sched_cpu[cpu].running && best != 0u && sched_cpu[cpu].slice_end == TIMER_NEVER) {
        uint64_t now = timer_now();
        sched_cpu[cpu].slice_end = now + SCHED_SLICE_NS;
        sched_alarm_want(cpu, sched_cpu[cpu].slice_end);
    }
}

void sched_insert(uint32_t cpu, uint32_t t)
{
    uint32_t priority = thread_priority(t);
    sched_ready_insert(cpu, t);
    if (priority >= sched_cpu[cpu].running) {
        arch_set_need_resched(1u);
    } else if (priority + 1u == sched_cpu[cpu].running) {
        sched_begin_slice(cpu);
    }
}

/* Switches to t; returns when the current thread runs again. No switch happens while a reschedule is pending:
 * sched_run has cleared the mark, and sched_switch_to goes through the ready queues if it is set. So no reschedule
 * is pending when the thread resumes either; clearing the mark here lets the timing analysis see that a resumed
 * thread leaves the kernel without another switch. */
static void sched_switch(uint32_t t)
{
    thread_switch(t);
    arch_set_need_resched(0u);
}

/* Runs next, which sched_pick has chosen. Returns when the current thread runs again. */
static void sched_run(uint32_t cpu, uint32_t next)
{
    uint32_t current = thread_current();
    uint32_t running = 0u;
    if (next >= NUM_CPU) {
        uint32_t priority = thread_priority(next);
        running = priority + 1u;
    }
    sched_cpu[cpu].running = running;
    arch_set_need_resched(0u);
    sched_cpu[cpu].slice_over = 0u;
    sched_cpu[cpu].slice_end = TIMER_NEVER;
    sched_begin_slice(cpu);
    sched_budget_switch(cpu, next);
    if (next != current) {
        sched_switch(next);
    }
}

void sched_prepare_block(void)
{
    uint32_t current = thread_current();
    thread_set_state(current, THREAD_BLOCKED);
}

void sched_block(void)
{
    uint32_t cpu = arch_cpu();
    uint32_t next = sched_pick(cpu);
    sched_run(cpu, next);
}

/* Queues t for its CPU. Only the first thread in the queue sends an interrupt: serving it takes all of them. */
static void sched_ready_remote(uint32_t home, uint32_t t)
{
    spinlock_acquire(LOCK_SCHED_PENDING_BASE + home);
    uint32_t first = queue_peek(QUEUE_PENDING_BASE + home);
    queue_enqueue(QUEUE_PENDING_BASE + home, t);
    spinlock_release(LOCK_SCHED_PENDING_BASE + home);
    if (first == NONE) {
        intc_send(home, VECTOR_RESCHEDULE);
    }
}

void sched_ready(uint32_t t)
{
    uint32_t cpu = arch_cpu();
    uint32_t home = thread_cpu(t);
    if (home == cpu) {
        sched_insert(cpu, t);
    } else {
        sched_ready_remote(home, t);
    }
}

/* Removes and returns the first thread of this CPU's pending queue, or NONE. */
static uint32_t sched_take_pending(uint32_t cpu)
{
    spinlock_acquire(LOCK_SCHED_PENDING_BASE + cpu);
    uint32_t t = queue_dequeue(QUEUE_PENDING_BASE + cpu);
    spinlock_release(LOCK_SCHED_PENDING_BASE + cpu);
    return t;
}

/* Threads that one interrupt takes over; for the rest this CPU interrupts itself, so that other interrupts can be
 * served in between. */
#define SCHED_PENDING_BATCH 4u

void sched_drain_pending(void)
{
    uint32_t cpu = arch_cpu();
    uint32_t t = sched_take_pending(cpu);
    for (uint32_t i = 0u; i < SCHED_PENDING_BATCH && t != NONE; i = i + 1u) {
        sched_insert(cpu, t);
        t = NONE;
        if (i + 1u < SCHED_PENDING_BATCH) {
            t = sched_take_pending(cpu);
        } else {
            intc_send(cpu, VECTOR_RESCHEDULE);
        }
    }
}

void sched_queue_and_block(uint32_t t)
{
    sched_ready(t);
    sched_block();
}

uint32_t sched_hand_over_budget(uint32_t cpu, uint32_t t)
{
    uint32_t has = sched_budget_has(cpu, t);
    if (has == 1u) {
        sched_budget_switch(cpu, t);
    }
    return has;
}

void sched_switch_to(uint32_t t)
{
    uint32_t cpu = arch_cpu();
    uint32_t home = thread_cpu(t);
    if (home != cpu) {
        sched_queue_and_block(t);
        return;
    }
    uint32_t priority = thread_priority(t);
    uint32_t running = priority + 1u;
    uint32_t best = sched_ready_best(cpu);
    uint32_t need_resched = arch_need_resched();
    if (running < best || need_resched == 1u) {
        sched_queue_and_block(t);
        return;
    }
    uint32_t limited = sched_budget_concerns(cpu, t);
    if (limited == 1u) {
        uint32_t has = sched_hand_over_budget(cpu, t);
        if (has == 0u) {
            sched_queue_and_block(t);
            return;
        }
    }
    /* t continues the slice of the current thread: two threads that call each other cannot keep others of their
     * priority waiting. */
    thread_set_state(t, THREAD_RUNNING);
    sched_cpu[cpu].running = running;
    if (running == best && sched_cpu[cpu].slice_end == TIMER_NEVER) {
        sched_begin_slice(cpu);
    }
    sched_switch(t);
}

void sched_yield(void)
{
    uint32_t cpu = arch_cpu();
    sched_cpu[cpu].slice_over = 1u;
    arch_set_need_resched(1u);
}

/* 1 if another thread must run: the current one has no budget, or a thread of higher priority is ready, or its slice
 * is over and one of equal priority is ready, or it is the idle thread and any thread is ready. */
static uint32_t sched_make_way(uint32_t cpu, uint32_t current)
{
    uint32_t best = sched_ready_best(cpu);
    uint32_t running = sched_cpu[cpu].running;
    if (best > running) {
        return 1u;
    }
    if (running == 0u) {
        return 0u;
    }
    if (sched_cpu[cpu].slice_over == 1u && best == running) {
        return 1u;
    }
    uint32_t has = sched_budget_has(cpu, current);
    if (has == 0u) {
        return 1u;
    }
    return 0u;
}

void sched_decide(uint32_t cpu)
{
    uint32_t current = thread_current();
    uint32_t way = sched_make_way(cpu, current);
    arch_set_need_resched(0u);
    if (way == 1u) {
        sched_put_back(cpu, current);
        uint32_t next = sched_pick(cpu);
        sched_run(cpu, next);
    } else {
        sched_cpu[cpu].slice_over = 0u;
        sched_cpu[cpu].slice_end = TIMER_NEVER;
        sched_begin_slice(cpu);
    }
}

uint32_t sched_leave(void)
{
    uint32_t need_resched = arch_need_resched();
    if (need_resched == 1u) {
        uint32_t cpu = arch_cpu();
        sched_decide(cpu);
    }
    return need_resched;
}

void sched_exit_current(void)
{
    uint32_t cpu = arch_cpu();
    uint32_t current = thread_current();
    sched_deadline_remove(cpu, current);
    thread_set_state(current, THREAD_EXITED);
    sched_budget_exempt(cpu, current, 0u);
    uint32_t next = sched_pick(cpu);
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
    sched_budget_exempt(cpu, t, 1u);
    if (state != THREAD_BLOCKED) {
        sched_insert(cpu, t);
    }
}

void sched_unboost(void)
{
    uint32_t cpu = arch_cpu();
    uint32_t current = thread_current();
    uint32_t priority = thread_base_priority(current);
    thread_set_priority(current, priority);
    sched_cpu[cpu].running = priority + 1u;
    arch_set_need_resched(1u);
    sched_budget_exempt(cpu, current, 0u);
}

void sched_timer_interrupt(void)
{
    uint32_t cpu = arch_cpu();
    uint64_t now = timer_now();
    sched_alarm_gone(cpu);
    uint32_t over = sched_budget_timer(cpu, now);
    if (over == 1u) {
        arch_set_need_resched(1u);
    }
    if (sched_cpu[cpu].slice_end <= now) {
        sched_cpu[cpu].slice_end = TIMER_NEVER;
        sched_cpu[cpu].slice_over = 1u;
        arch_set_need_resched(1u);
    }
    sched_alarm_want(cpu, sched_cpu[cpu].slice_end);
}

#if DEBUG
#include "sched_check.c"
#endif
