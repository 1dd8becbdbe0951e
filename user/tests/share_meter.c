/* Measures what its reservation gives it, over spans of ten periods. `period_us` and `budget_us` repeat the reservation.
 * With `naps` it sleeps for that many nanoseconds after each stretch of 20 microseconds, so that it wakes all the time;
 * with `rests` it sleeps for that many periods before each span. In a span it must get its ten budgets, one less if a
 * period is cut by the span's ends, and at most one more: what it has not used while it rested is lost. */
#include "meter.h"

#include "ashlar/env.h"
#include "ashlar/print.h"

#define SPANS 5
#define PERIODS 10
#define STRETCH_NS 20000

static uint64_t span(uint64_t length, uint64_t naps)
{
    struct meter meter = meter_start();
    uint64_t end = meter.last + length, now = meter.last, stretch = 0;

    while (now < end) {
        now = meter_look(&meter);
        if (naps != 0 && meter.ran >= stretch + STRETCH_NS) {
            stretch = meter.ran;
            sys_sleep(now + naps);
            meter_skip(&meter);
        }
    }
    return meter.ran;
}

int main(void)
{
    uint64_t period = env_arg_u64("period_us", 10000) * 1000, budget = env_arg_u64("budget_us", 1000) * 1000;
    uint64_t naps = env_arg_u64("naps", 0), rests = env_arg_u64("rests", 0);

    for (int i = 0; i < SPANS; i++) {
        if (rests != 0) {
            sys_sleep(sys_clock() + rests * period);
        }
        uint64_t ran = span(PERIODS * period, naps);
        print("SPAN %lu of %lu us\n", ran / 1000, PERIODS * period / 1000);
        if (ran < (PERIODS - 1) * budget - budget / 10 || ran > (PERIODS + 1) * budget + budget / 10) {
            print("SHARE broken: %lu us of %lu\n", ran / 1000, PERIODS * budget / 1000);
        }
    }
    print("SHARES kept\n");
    for (;;) {
    }
}
