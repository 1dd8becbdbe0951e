/* Reservations: a thread that has one may run for its budget in each of its periods. The first period begins when the
 * thread first becomes ready; later ones follow each other while it wants to run, and a new one begins when it wakes
 * after its last one has ended. So every period gives the whole budget, and no interval of one period sees more than
 * the budgets of the two periods that it touches. Time that the thread runs too long, because its alarm was served
 * late, is taken from its next budget.
 *
 * A thread without a reservation may spend that of the thread it serves, until it has replied. So a reservation is
 * spent by one thread at a time: the others wait for its reply. To finish the request it may spend one budget in
 * advance: else a client whose budget ends meanwhile would keep all clients of the server waiting for its next period. */
#include "arch.h"
#include "queue.h"
#include "sched.h"
#include "sched_cpu.h"
#include "sched_parts.h"
#include "thread.h"
#include "timer.h"
#include "trace.h"

/* One cache line each, touched by the thread's CPU only; 512 bytes apart, kernel.ld says why. period and budget are constant
 * after start-up. spends and exempt are what the thread spends itself. */
struct sched_reservation {
    uint64_t period; /* 0: the thread has none */
    uint64_t budget;
    uint64_t left;   /* of this period's budget */
    uint64_t end;    /* of this period */
    uint64_t debt;   /* time run beyond the budget, which later ones are shortened by */
    uint64_t used;   /* total ns spent */
    uint32_t spends; /* the reservation it spends while it runs: its own or a borrowed one; NONE: unlimited */
    uint32_t exempt; /* 1: boosted, spends none */
    uint64_t spare[57];
};

static struct sched_reservation sched_reservation[NUM_THREAD];

void sched_budget_init(void)
{
    for (uint32_t t = 0u; t < NUM_THREAD; t = t + 1u) {
        sched_reservation[t].period = 0ul;
        sched_reservation[t].budget = 0ul;
        sched_reservation[t].left = 0ul;
        sched_reservation[t].end = 0ul;
        sched_reservation[t].debt = 0ul;
        sched_reservation[t].used = 0ul;
        sched_reservation[t].spends = NONE;
        sched_reservation[t].exempt = 0u;
    }
}

void sched_reserve(uint32_t t, uint64_t period_ns, uint64_t budget_ns)
{
    sched_reservation[t].period = period_ns;
    sched_reservation[t].budget = budget_ns;
    sched_budget_take_back(t);
}

/* The reservation that t spends when it runs, or NONE. */
static uint32_t sched_payer(uint32_t t)
{
    if (sched_reservation[t].exempt == 1u) {
        return NONE;
    }
    return sched_reservation[t].spends;
}

/* Begins a new period if the last one has ended. */
static void sched_refill(uint32_t r, uint64_t now)
{
    uint64_t end = sched_reservation[r].end;
    if (now < end) {
        return;
    }
    uint64_t period = sched_reservation[r].period;
    uint64_t budget = sched_reservation[r].budget;
    uint64_t debt = sched_reservation[r].debt;
    /* After a gap of a period or more the next one begins now: what was not used is lost. */
    if (end + period <= now) {
        end = now;
    }
    if (debt > budget) {
        debt = budget;
    }
    sched_reservation[r].end = end + period;
    sched_reservation[r].left = budget - debt;
    sched_reservation[r].debt = sched_reservation[r].debt - debt;
}

/* Takes ns from what is left of r. */
static void sched_spend(uint32_t r, uint64_t ns)
{
    uint64_t left = sched_reservation[r].left;
    if (ns <= left) {
        sched_reservation[r].left = left - ns;
    } else {
        sched_reservation[r].left = 0ul;
        sched_reservation[r].debt = sched_reservation[r].debt + (ns - left);
    }
}

/* Charges the reservation of the running thread up to now. Requires: there is one. */
static void sched_charge(uint32_t cpu, uint64_t now)
{
    uint32_t r = sched_cpu_charged(cpu);
    uint64_t since = sched_cpu_since(cpu);
    uint64_t end = sched_reservation[r].end;
    sched_reservation[r].used = sched_reservation[r].used + (now - since);
    if (since < end && end <= now) {
        sched_spend(r, end - since);
        since = end;
    }
    sched_refill(r, now);
    sched_spend(r, now - since);
    sched_cpu_set_since(cpu, now);
}

/* Time that t, which spends r, may run before its next period. */
static uint64_t sched_time_left(uint32_t t, uint32_t r)
{
    uint64_t time = sched_reservation[r].left;
    uint64_t budget = sched_reservation[r].budget;
    uint64_t debt = sched_reservation[r].debt;
    if (t != r && debt < budget) {
        time = time + (budget - debt);
    }
    return time;
}

uint32_t sched_budget_has(uint32_t cpu, uint32_t t)
{
    uint32_t r = sched_payer(t);
    if (r == NONE) {
        return 1u;
    }
    uint64_t now = timer_now();
    uint32_t charged = sched_cpu_charged(cpu);
    if (r == charged) {
        sched_charge(cpu, now);
    } else {
        sched_refill(r, now);
    }
    uint64_t time = sched_time_left(t, r);
    if (time == 0ul) {
        return 0u;
    }
    return 1u;
}

uint32_t sched_budget_limited(uint32_t t)
{
    if (sched_reservation[t].spends == NONE) {
        return 0u;
    }
    return 1u;
}

void sched_budget_switch(uint32_t cpu, uint32_t t)
{
    uint32_t r = sched_payer(t);
    uint32_t charged = sched_cpu_charged(cpu);
    if (r == charged) {
        if (r != NONE) { /* its server had longer, or a period has begun since the alarm */
            uint64_t since = sched_cpu_since(cpu);
            uint64_t rest = sched_time_left(t, r);
            sched_alarm_want(cpu, since + rest);
        }
        return;
    }
    uint64_t now = timer_now();
    if (charged != NONE) {
        sched_charge(cpu, now);
    }
    sched_cpu_set_charged(cpu, r);
    sched_cpu_set_since(cpu, now);
    if (r != NONE) {
        sched_refill(r, now);
        uint64_t time = sched_time_left(t, r);
        sched_alarm_want(cpu, now + time);
    }
}

uint32_t sched_budget_floor(uint32_t cpu, uint32_t t, uint32_t best)
{
    uint32_t floor = best;
    sched_budget_switch(cpu, t);
    uint32_t charged = sched_cpu_charged(cpu);
    if (charged != NONE) {
        floor = ARCH_FLOOR_NONE;
    }
    return floor;
}

void sched_budget_park(uint32_t cpu, uint32_t t)
{
    uint32_t r = sched_reservation[t].spends;
    sched_ready_park(QUEUE_PARKED_BASE + cpu, t);
    sched_event_add(cpu, SCHED_RELEASE_BASE + t, sched_reservation[r].end);
}

void sched_budget_unpark(uint32_t cpu, uint32_t t)
{
    queue_remove(t);
    sched_event_remove(cpu, SCHED_RELEASE_BASE + t);
}

void sched_budget_exempt(uint32_t t, uint32_t exempt)
{
    sched_reservation[t].exempt = exempt;
}

void sched_budget_borrow(uint32_t t, uint32_t from)
{
    if (sched_reservation[t].period == 0ul) {
        uint32_t r = sched_payer(from);
        sched_reservation[t].spends = r;
    }
}

void sched_budget_take_back(uint32_t t)
{
    sched_reservation[t].spends = NONE;
    if (sched_reservation[t].period != 0ul) {
        sched_reservation[t].spends = t;
    }
}

uint64_t sched_budget_timer(uint32_t cpu, uint64_t now)
{
    uint32_t r = sched_cpu_charged(cpu);
    if (r == NONE) {
        return TIMER_NEVER;
    }
    uint32_t current = thread_current();
    sched_charge(cpu, now);
    uint64_t time = sched_time_left(current, r);
#if TRACE
    if (time == 0ul) {
        trace_event(TRACE_SPENT, current);
    }
#endif
    return now + time;
}

void sched_pause_charge(void)
{
    uint32_t cpu = arch_cpu();
    uint32_t charged = sched_cpu_charged(cpu);
    if (charged != NONE) {
        uint64_t now = timer_now();
        sched_charge(cpu, now);
    }
}

void sched_resume_charge(void)
{
    uint32_t cpu = arch_cpu();
    uint32_t charged = sched_cpu_charged(cpu);
    if (charged != NONE) {
        uint64_t now = timer_now();
        sched_cpu_set_since(cpu, now);
    }
}

uint64_t sched_used_ns(uint32_t t)
{
    uint32_t cpu = arch_cpu();
    uint64_t used = sched_reservation[t].used;
    uint32_t charged = sched_cpu_charged(cpu);
    if (charged == t) {
        uint64_t now = timer_now();
        uint64_t since = sched_cpu_since(cpu);
        used = used + (now - since);
    }
    return used;
}

#if DEBUG
#include "sched_budget_check.c"
#endif
