/* The local interrupt controller's timer: a counter of 1 GHz before its divider, or a deadline of the guest's TSC. */
#include "devices/lapic.h"

#include "devices/lapic_parts.h"

#define TIMER_MODE 0x60000u
#define TIMER_PERIODIC 0x20000u
#define TIMER_DEADLINE 0x40000u
#define PERIOD_LEAST_NS 100000ul /* between two interrupts: with less, guest and monitor would do nothing else */
#define DEADLINE_SLACK_NS 500ul  /* so that rounding never makes the interrupt early */

static uint32_t timer_mode(const struct lapic *lapic)
{
    return lapic->lvt[LVT_TIMER] & TIMER_MODE;
}

/* ns of one count: the divider's bits 0, 1 and 3 are 1 less than the power of two, and 111 means 1. */
static uint64_t count_ns(const struct lapic *lapic)
{
    uint32_t code = (lapic->divide & 3) | (lapic->divide & 8) >> 1;
    return 1ul << ((code + 1) & 7);
}

static uint64_t period_ns(const struct lapic *lapic)
{
    return lapic->initial_count * count_ns(lapic);
}

/* The next interrupt of the periodic mode. */
static uint64_t next_period(const struct lapic *lapic, uint64_t now)
{
    uint64_t period = period_ns(lapic);
    return period < PERIOD_LEAST_NS ? now + PERIOD_LEAST_NS : lapic->start + period;
}

void lapic_set_timer(struct lapic *lapic, uint32_t entry)
{
    uint32_t old_mode = timer_mode(lapic);
    lapic->lvt[LVT_TIMER] = entry;
    if (((old_mode ^ timer_mode(lapic)) & TIMER_DEADLINE) != 0) { /* switching to or from the deadline mode disarms */
        lapic->next = LAPIC_NEVER;
        lapic->deadline = 0;
        lapic->initial_count = 0;
    }
}

uint32_t lapic_current_count(const struct lapic *lapic, uint64_t now)
{
    uint64_t period = period_ns(lapic), elapsed = now > lapic->start ? now - lapic->start : 0;
    if (period == 0 || timer_mode(lapic) == TIMER_DEADLINE) {
        return 0;
    }
    if (timer_mode(lapic) == TIMER_PERIODIC) {
        elapsed %= period;
    }
    return elapsed >= period ? 0 : (uint32_t)((period - elapsed) / count_ns(lapic));
}

void lapic_load_counter(struct lapic *lapic, uint32_t count, uint64_t now)
{
    lapic->initial_count = count;
    lapic->start = now;
    if (count == 0) {
        lapic->next = LAPIC_NEVER;
    } else if (timer_mode(lapic) == TIMER_PERIODIC) {
        lapic->next = next_period(lapic, now);
    } else if (timer_mode(lapic) != TIMER_DEADLINE) {
        lapic->next = now + period_ns(lapic);
    }
}

void lapic_set_deadline(struct lapic *lapic, uint64_t deadline, uint64_t tsc, uint64_t now)
{
    if (timer_mode(lapic) != TIMER_DEADLINE) {
        return;
    }
    lapic->deadline = deadline;
    if (deadline == 0) {
        lapic->next = LAPIC_NEVER;
        return;
    }
    uint64_t ticks = deadline > tsc ? deadline - tsc : 0;
    /* A deadline beyond some 200 days would overflow; later than that is as good as never. */
    if (ticks > LAPIC_NEVER / 1000000ul) {
        lapic->next = LAPIC_NEVER;
    } else {
        lapic->next = now + ticks * 1000000ul / lapic->tsc_khz + (ticks == 0 ? 0 : DEADLINE_SLACK_NS);
    }
}

void lapic_expire(struct lapic *lapic, uint64_t now)
{
    if (now < lapic->next) {
        return;
    }
    if (timer_mode(lapic) == TIMER_PERIODIC) { /* missed periods are merged into one */
        uint64_t period = period_ns(lapic);
        lapic->start += (now - lapic->start) / period * period;
        lapic->next = next_period(lapic, now);
    } else {
        lapic->next = LAPIC_NEVER;
        lapic->deadline = 0;
    }
    if ((lapic->lvt[LVT_TIMER] & LVT_MASKED) == 0) {
        lapic_request(lapic, lapic->lvt[LVT_TIMER] & 0xff);
    }
}
