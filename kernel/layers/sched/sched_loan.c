/* Loans: a server without a reservation spends that of the thread it serves, so that a client pays for what is done for
 * it. Only between threads of one CPU; a server that is called from another CPU runs on its own reservation or is not
 * limited. While no reservation is charged there is nothing to lend, so direct switches look no further. */
#include "arch.h"
#include "sched.h"
#include "sched_cpu.h"
#include "sched_parts.h"
#include "thread.h"

void sched_call_slowly(uint32_t t)
{
    uint32_t cpu = arch_cpu();
    uint32_t home = thread_cpu(t);
    uint32_t current = thread_current();
    if (home == cpu) {
        sched_budget_borrow(t, current);
    }
    sched_switch_slowly(t);
}

void sched_call(uint32_t t)
{
    uint32_t at_once = sched_prepare_switch(t);
    if (at_once == 1u) {
        thread_switch_to_user(t);
    } else {
        sched_call_slowly(t);
    }
}

void sched_reply_slowly(uint32_t t)
{
    uint32_t current = thread_current();
    sched_budget_take_back(current);
    sched_switch_slowly(t);
}

void sched_reply(uint32_t t)
{
    uint32_t at_once = sched_prepare_switch(t);
    if (at_once == 1u) {
        thread_switch_to_user(t);
    } else {
        sched_reply_slowly(t);
    }
}

void sched_borrow(uint32_t from)
{
    uint32_t cpu = arch_cpu();
    uint32_t home = thread_cpu(from);
    uint32_t current = thread_current();
    if (home == cpu) {
        sched_budget_borrow(current, from);
    } else {
        sched_budget_take_back(current);
    }
    sched_budget_switch(cpu, current);
    sched_update_floor(cpu);
}

void sched_repay(void)
{
    uint32_t cpu = arch_cpu();
    uint32_t charged = sched_cpu_charged(cpu);
    if (charged != NONE) {
        uint32_t current = thread_current();
        sched_budget_take_back(current);
        sched_budget_switch(cpu, current);
        sched_update_floor(cpu);
    }
}

void sched_revoke(uint32_t server)
{
    uint32_t cpu = arch_cpu();
    uint32_t home = thread_cpu(server);
    uint32_t current = thread_current();
    if (server == current) {
        sched_repay();
    } else if (home == cpu) {
        sched_budget_take_back(server);
    }
}
