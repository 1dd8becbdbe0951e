/* Waking threads of this CPU and of others. A thread that is more important than the running one and all ready ones is
 * kept out of the ready queues: it runs next, when the kernel is left. So an interrupt or signal hands the processor
 * over without queueing the thread it is for. */
#include "arch.h"
#include "intc.h"
#include "queue.h"
#include "sched.h"
#include "sched_cpu.h"
#include "sched_parts.h"
#include "spinlock.h"
#include "thread.h"
#include "trace.h"

void sched_wake_take(uint32_t cpu)
{
    uint32_t next = sched_cpu_kept(cpu);
    sched_cpu_set_kept(cpu, NONE);
    thread_set_state(next, THREAD_RUNNING);
}

uint32_t sched_next(uint32_t cpu)
{
    uint32_t next = sched_cpu_kept(cpu);
    if (next != NONE) {
        sched_wake_take(cpu);
        return next;
    }
    uint32_t t = sched_pick(cpu);
    return t;
}

/* Makes t ready. Requires: it has time left. */
static void sched_insert_ready(uint32_t cpu, uint32_t t)
{
    uint32_t priority = thread_priority(t);
    uint32_t level = priority + 1u;
    uint32_t running = sched_cpu_running(cpu);
    uint32_t best = sched_ready_best(cpu);
    uint32_t next = sched_cpu_kept(cpu);
    if (level > running && level > best && next == NONE) {
        sched_cpu_set_kept(cpu, t);
        sched_request();
        return;
    }
    uint32_t queued = t;
    if (next != NONE) {
        uint32_t kept = thread_priority(next);
        if (priority > kept) {
            queued = next;
            sched_cpu_set_kept(cpu, t);
        }
    }
    sched_ready_insert(cpu, queued);
    if (level > running) {
        sched_request();
    } else {
        if (level == running) {
            sched_begin_slice(cpu);
        }
        sched_update_floor(cpu);
    }
}

void sched_insert(uint32_t cpu, uint32_t t)
{
    uint32_t limited = sched_budget_limited(t);
    if (limited == 1u) {
        uint32_t has = sched_budget_has(cpu, t);
        if (has == 0u) {
            sched_budget_park(cpu, t);
            return;
        }
    }
    sched_insert_ready(cpu, t);
}

/* Only the first thread in the queue sends an interrupt: while more are left, the CPU sends itself the next one. */
void sched_ready_remote(uint32_t t)
{
    uint32_t home = thread_cpu(t);
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
#if TRACE
    trace_event(TRACE_WAKE, t);
#endif
    uint32_t cpu = arch_cpu();
    uint32_t home = thread_cpu(t);
    if (home != cpu) {
        sched_ready_remote(t);
        return;
    }
    uint32_t limited = sched_budget_limited(t);
    uint32_t priority = thread_priority(t);
    uint32_t floor = arch_floor();
    uint32_t running = sched_cpu_running(cpu);
    /* No thread is kept while the floor is a priority: a reschedule would be pending. */
    if (limited == 0u && priority >= floor && priority >= running) {
        sched_cpu_set_kept(cpu, t);
        sched_request();
    } else {
        sched_insert(cpu, t);
    }
}

void sched_drain_pending(void)
{
    uint32_t cpu = arch_cpu();
    spinlock_acquire(LOCK_SCHED_PENDING_BASE + cpu);
    uint32_t t = queue_dequeue(QUEUE_PENDING_BASE + cpu);
    uint32_t more = queue_peek(QUEUE_PENDING_BASE + cpu);
    spinlock_release(LOCK_SCHED_PENDING_BASE + cpu);
    if (more != NONE) {
        intc_send(cpu, VECTOR_RESCHEDULE);
    }
    if (t != NONE) {
        sched_insert(cpu, t);
    }
}
