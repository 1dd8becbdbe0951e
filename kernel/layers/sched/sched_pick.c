/* Chooses the next thread. A ready thread is in the ready queue of its priority, or, if it has no time left, in its
 * CPU's queue of parked threads; the running thread is in no queue. */
#include "sched.h"
#include "sched_parts.h"
#include "thread.h"

uint32_t sched_pick(uint32_t cpu)
{
    uint32_t t = sched_ready_take(cpu);
    if (t != NONE) {
        return t;
    }
    thread_set_state(cpu, THREAD_RUNNING);
    return cpu; /* the idle thread */
}

void sched_put_back(uint32_t cpu, uint32_t current)
{
    if (current < NUM_CPU) {
        thread_set_state(current, THREAD_READY);
        return;
    }
    uint32_t has = sched_budget_has(cpu, current);
    if (has == 0u) {
        sched_budget_park(cpu, current);
    } else {
        sched_ready_insert(cpu, current);
    }
}
