/* Chooses the next thread. A ready thread is in the ready queue of its priority, or, without budget, in its process's
 * queue of parked threads; the running thread is in no queue. */
#include "sched.h"
#include "sched_parts.h"
#include "thread.h"

uint32_t sched_pick(uint32_t cpu)
{
    uint32_t t = sched_ready_take(cpu);
    /* One round unless budgets are exhausted, at most one for each thread. */
    for (uint32_t i = 0u; i < NUM_THREAD && t != NONE; i = i + 1u) {
        uint32_t has = sched_budget_has(cpu, t);
        if (has == 1u) {
            return t;
        }
        sched_budget_park(cpu, t);
        t = sched_ready_take(cpu);
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
