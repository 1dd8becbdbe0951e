/* Budgets: a sporadic server per CPU and limited process. Its budget is a ring of refills (time from which it may be
 * used, amount), earliest first, whose amounts always add up to the budget. Running consumes the first refill; an
 * amount consumed from time s on becomes a refill at s + period. So no interval of one period sees more than the
 * budget. When the ring is full or a refill is too small to be worth a switch, refills merge at the later time: that
 * delays budget and never adds any. */
#include "arch.h"
#include "queue.h"
#include "sched.h"
#include "sched_parts.h"
#include "thread.h"
#include "timer.h"

#define SCHED_REFILLS 8u

/* Most parked threads that one interrupt makes ready, or processes that it finds still without budget. For the rest
 * the alarm comes again at once, so that other interrupts can be served in between. */
#define SCHED_REFILL_BATCH 4u

/* Constant after start-up. period 0: no limit. */
struct sched_limit {
    uint64_t period;
    uint64_t budget;
};

/* At index cpu * NUM_PROCESS + p; touched by its CPU only. count >= 1 if p is limited. */
struct sched_server {
    uint64_t used;  /* total ns run */
    uint32_t first; /* index of the earliest refill */
    uint32_t count;
    /* Consumption whose refill would come at this time merges with the last refill; 0: none does. */
    uint64_t merge_at;
};

/* The ring of server s is at s * SCHED_REFILLS; touched by its CPU only. */
struct sched_refill {
    uint64_t when;
    uint64_t amount;
};

/* One cache line each, touched by its CPU only. */
struct sched_account {
    uint32_t charged; /* limited process that is charged now, or NONE */
    uint32_t spare0;
    uint64_t since;   /* time up to which it has been charged */
    uint64_t parked;  /* bit p: threads of p are parked here */
    uint64_t waiting; /* bit p: threads of p are parked and a refill may have come; the alarm is due at once */
    uint64_t refill;  /* not later than the next refill of any other process with parked threads */
    uint64_t spare[3];
};

static struct sched_limit sched_limit[NUM_PROCESS];
static struct sched_server sched_server[NUM_CPU * NUM_PROCESS];
static struct sched_refill sched_refill[NUM_CPU * NUM_PROCESS * SCHED_REFILLS];
static struct sched_account sched_account[NUM_CPU];
static uint32_t sched_exempt[NUM_THREAD]; /* 1: boosted. Used by the thread's CPU only */

void sched_budget_init(void)
{
    for (uint32_t p = 0u; p < NUM_PROCESS; p = p + 1u) {
        sched_limit[p].period = 0ul;
        sched_limit[p].budget = 0ul;
    }
    for (uint32_t cpu = 0u; cpu < NUM_CPU; cpu = cpu + 1u) {
        sched_account[cpu].charged = NONE;
        sched_account[cpu].since = 0ul;
        sched_account[cpu].parked = 0ul;
        sched_account[cpu].waiting = 0ul;
        sched_account[cpu].refill = TIMER_NEVER;
    }
    for (uint32_t t = 0u; t < NUM_THREAD; t = t + 1u) {
        sched_exempt[t] = 0u;
    }
}

void sched_set_budget(uint32_t p, uint64_t period_ns, uint64_t budget_ns)
{
    sched_limit[p].period = period_ns;
    sched_limit[p].budget = budget_ns;
    for (uint32_t cpu = 0u; cpu < NUM_CPU; cpu = cpu + 1u) {
        uint32_t s = cpu * NUM_PROCESS + p;
        sched_server[s].used = 0ul;
        sched_server[s].first = 0u;
        sched_server[s].count = 1u;
        sched_server[s].merge_at = 0ul;
        sched_refill[s * SCHED_REFILLS + 0].when = 0ul;
        sched_refill[s * SCHED_REFILLS + 0].amount = budget_ns;
    }
}

/* The limited process that is charged for t; NONE if t is unlimited or boosted. */
static uint32_t sched_payer(uint32_t t)
{
    uint32_t p = thread_process(t);
    if (p == NONE) {
        return NONE;
    }
    if (sched_limit[p].period == 0ul || sched_exempt[t] == 1u) {
        return NONE;
    }
    return p;
}

/* Adds a refill at the end. Requires: when is not before the last one's time. */
static void sched_refill_add(uint32_t s, uint64_t when, uint64_t amount)
{
    uint32_t first = sched_server[s].first;
    uint32_t count = sched_server[s].count;
    uint64_t merge_at = sched_server[s].merge_at;
    sched_server[s].merge_at = when + amount;
    if (count == 0u || (count < SCHED_REFILLS && merge_at != when)) {
        uint32_t next = (first + count) % SCHED_REFILLS;
        sched_refill[s * SCHED_REFILLS + next].when = when;
        sched_refill[s * SCHED_REFILLS + next].amount = amount;
        sched_server[s].count = count + 1u;
        return;
    }
    uint32_t last = (first + count - 1u) % SCHED_REFILLS;
    /* If consumption has been continuous since the last refill's began, the two are one. Else the ring is full, and
     * the amount is delayed. */
    if (merge_at != when) {
        sched_refill[s * SCHED_REFILLS + last].when = when;
    }
    sched_refill[s * SCHED_REFILLS + last].amount = sched_refill[s * SCHED_REFILLS + last].amount + amount;
}

/* Consumes `ns` nanoseconds that began at `from`. An overrun (the alarm was served late) is taken from later refills;
 * overrun beyond all of them is not charged. */
static void sched_refill_use(uint32_t s, uint64_t from, uint64_t ns, uint64_t period)
{
    uint32_t first = sched_server[s].first;
    uint32_t count = sched_server[s].count;
    uint64_t left = ns;
    uint64_t amount = sched_refill[s * SCHED_REFILLS + first].amount;
    for (uint32_t i = 0u; i < SCHED_REFILLS && count > 0u && amount <= left; i = i + 1u) {
        left = left - amount;
        first = (first + 1u) % SCHED_REFILLS;
        count = count - 1u;
        amount = sched_refill[s * SCHED_REFILLS + first].amount;
    }
    uint64_t used = ns - left;
    if (count > 0u) {
        sched_refill[s * SCHED_REFILLS + first].amount = amount - left;
        used = ns;
    }
    sched_server[s].first = first;
    sched_server[s].count = count;
    sched_refill_add(s, from + period, used);
}

/* Merges the first refill with the second while both may be used, or while the first is too small. */
static void sched_refill_merge(uint32_t s, uint64_t now)
{
    uint32_t count = sched_server[s].count;
    if (count == 1u) {
        return;
    }
    uint32_t first = sched_server[s].first;
    uint32_t second = (first + 1u) % SCHED_REFILLS;
    uint64_t amount = sched_refill[s * SCHED_REFILLS + first].amount;
    for (uint32_t i = 0u; i < SCHED_REFILLS && count > 1u; i = i + 1u) {
        if (sched_refill[s * SCHED_REFILLS + second].when > now && amount >= SCHED_BUDGET_MIN_NS) {
            break;
        }
        amount = amount + sched_refill[s * SCHED_REFILLS + second].amount;
        first = second;
        second = (first + 1u) % SCHED_REFILLS;
        count = count - 1u;
    }
    sched_refill[s * SCHED_REFILLS + first].amount = amount;
    sched_server[s].first = first;
    sched_server[s].count = count;
    if (count == 1u) {
        sched_server[s].merge_at = 0ul; /* the last refill is now a merged one */
    }
}

/* Budget available now, ns. */
static uint64_t sched_available(uint32_t s, uint64_t now)
{
    uint32_t first = sched_server[s].first;
    if (sched_refill[s * SCHED_REFILLS + first].when > now) {
        return 0ul;
    }
    return sched_refill[s * SCHED_REFILLS + first].amount;
}

/* Charges the time since the last call. Requires: a process is being charged. */
static void sched_charge(uint32_t cpu, uint64_t now)
{
    uint32_t p = sched_account[cpu].charged;
    uint32_t s = cpu * NUM_PROCESS + p;
    uint64_t from = sched_account[cpu].since;
    if (now > from) {
        sched_server[s].used = sched_server[s].used + (now - from);
        sched_refill_use(s, from, now - from, sched_limit[p].period);
        sched_account[cpu].since = now;
    }
    sched_refill_merge(s, now);
}

/* Time that p has run and that has not been charged yet, ns. */
static uint64_t sched_uncharged(uint32_t cpu, uint32_t p, uint64_t now)
{
    if (sched_account[cpu].charged != p || now < sched_account[cpu].since) {
        return 0ul;
    }
    return now - sched_account[cpu].since;
}

/* Does not charge or merge, because choosing among many threads calls it often. If the rest of the first refill is
 * too small, it counts together with the second one if both may be used; if that is too small as well, the thread's
 * alarm comes at once. */
uint32_t sched_budget_has(uint32_t cpu, uint32_t t)
{
    uint32_t p = sched_payer(t);
    if (p == NONE) {
        return 1u;
    }
    uint32_t s = cpu * NUM_PROCESS + p;
    uint64_t now = timer_now();
    uint64_t used = sched_uncharged(cpu, p, now);
    uint64_t available = sched_available(s, now);
    if (available != 0ul && available < used + SCHED_BUDGET_MIN_NS && sched_server[s].count > 1u) {
        uint32_t second = (sched_server[s].first + 1u) % SCHED_REFILLS;
        if (sched_refill[s * SCHED_REFILLS + second].when > now) {
            return 0u;
        }
        available = available + sched_refill[s * SCHED_REFILLS + second].amount;
    }
    if (available <= used) {
        return 0u;
    }
    return 1u;
}

uint32_t sched_budget_concerns(uint32_t cpu, uint32_t t)
{
    uint32_t p = sched_payer(t);
    if (p == NONE && sched_account[cpu].charged == NONE) {
        return 0u;
    }
    return 1u;
}

void sched_budget_switch(uint32_t cpu, uint32_t t)
{
    uint32_t p = sched_payer(t);
    sched_alarm_want(cpu, sched_account[cpu].refill);
    if (p == sched_account[cpu].charged) {
        return;
    }
    uint64_t now = timer_now();
    if (sched_account[cpu].charged != NONE) {
        sched_charge(cpu, now);
    }
    sched_account[cpu].charged = p;
    sched_account[cpu].since = now;
    if (p != NONE) {
        uint32_t s = cpu * NUM_PROCESS + p;
        sched_refill_merge(s, now);
        uint64_t available = sched_available(s, now);
        sched_alarm_want(cpu, now + available);
    }
}

/* Records that the alarm is needed for the next refill of p, whose threads are parked; sched_budget_switch sets it. */
static void sched_expect_refill(uint32_t cpu, uint32_t p)
{
    uint32_t s = cpu * NUM_PROCESS + p;
    uint32_t first = sched_server[s].first;
    uint64_t when = sched_refill[s * SCHED_REFILLS + first].when;
    if (when < sched_account[cpu].refill) {
        sched_account[cpu].refill = when;
    }
}

void sched_budget_park(uint32_t cpu, uint32_t t)
{
    uint32_t p = thread_process(t);
    uint32_t s = cpu * NUM_PROCESS + p;
    sched_ready_park(QUEUE_PARKED_BASE + s, t);
    sched_account[cpu].parked = sched_account[cpu].parked | (1ul << p);
    sched_expect_refill(cpu, p);
}

void sched_budget_unpark(uint32_t cpu, uint32_t t)
{
    uint32_t p = thread_process(t);
    queue_remove(t);
    uint32_t first = queue_peek(QUEUE_PARKED_BASE + cpu * NUM_PROCESS + p);
    if (first == NONE) {
        sched_account[cpu].parked = sched_account[cpu].parked & ~(1ul << p);
    }
}

void sched_budget_exempt(uint32_t cpu, uint32_t t, uint32_t exempt)
{
    uint32_t current = thread_current();
    sched_exempt[t] = exempt;
    if (t == current) {
        sched_budget_switch(cpu, t);
    }
}

void sched_replenish(uint32_t cpu, uint32_t p, uint64_t now)
{
    uint32_t s = cpu * NUM_PROCESS + p;
    sched_refill_merge(s, now);
    uint64_t available = sched_available(s, now);
    if (available == 0ul) {
        sched_account[cpu].waiting = sched_account[cpu].waiting & ~(1ul << p);
        sched_expect_refill(cpu, p);
        return;
    }
    uint32_t t = queue_dequeue(QUEUE_PARKED_BASE + s);
    if (t != NONE) {
        sched_insert(cpu, t);
    }
    uint32_t first = queue_peek(QUEUE_PARKED_BASE + s);
    if (first == NONE) {
        sched_account[cpu].parked = sched_account[cpu].parked & ~(1ul << p);
        sched_account[cpu].waiting = sched_account[cpu].waiting & ~(1ul << p);
    }
}

/* Serves refills whose time has come. */
static void sched_replenish_some(uint32_t cpu, uint64_t now)
{
    if (sched_account[cpu].waiting == 0ul && sched_account[cpu].refill <= now) {
        sched_account[cpu].waiting = sched_account[cpu].parked;
        sched_account[cpu].refill = TIMER_NEVER;
    }
    for (uint32_t i = 0u; i < SCHED_REFILL_BATCH && sched_account[cpu].waiting != 0ul; i = i + 1u) {
        uint32_t p = arch_highest_bit(sched_account[cpu].waiting);
        sched_replenish(cpu, p, now);
    }
    if (sched_account[cpu].waiting != 0ul) {
        sched_alarm_want(cpu, 0ul);
    }
    sched_alarm_want(cpu, sched_account[cpu].refill);
}

uint32_t sched_budget_timer(uint32_t cpu, uint64_t now)
{
    uint32_t over = 0u;
    uint32_t p = sched_account[cpu].charged;
    if (p != NONE) {
        sched_charge(cpu, now);
        uint64_t available = sched_available(cpu * NUM_PROCESS + p, now);
        if (available == 0ul) {
            over = 1u;
        } else {
            sched_alarm_want(cpu, now + available);
        }
    }
    sched_replenish_some(cpu, now);
    return over;
}

uint64_t sched_used_ns(uint32_t p)
{
    uint32_t cpu = arch_cpu();
    uint64_t used = sched_server[cpu * NUM_PROCESS + p].used;
    if (sched_account[cpu].charged == p) {
        uint64_t now = timer_now();
        used = used + (now - sched_account[cpu].since);
    }
    return used;
}

#if DEBUG
#include "sched_budget_check.c"
#endif
