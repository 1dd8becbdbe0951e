/* Measures what its reservation gives it: adds up the time between its looks at the clock, but for the gaps in which
 * other threads ran, over spans of ten periods. `period_us` and `budget_us` repeat the reservation. With `naps` it sleeps
 * for that many nanoseconds after each stretch of 20 microseconds, so that it wakes all the time. In a span it must get
 * its ten budgets, one less if a period is cut by the span's ends, and at most one more. */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"

#define SPANS 5
#define PERIODS 10
#define GAP 20000 /* ns: a longer step of the clock is a gap */
#define STRETCH 20000

static uint64_t span(uint64_t length, uint64_t naps)
{
    uint64_t start = sys_clock(), last = start, now = start, ran = 0, stretch = 0;

    while (now < start + length) {
        now = sys_clock();
        if (now - last < GAP) {
            ran += now - last;
            stretch += now - last;
        }
        last = now;
        if (naps != 0 && stretch >= STRETCH) {
            stretch = 0;
            sys_sleep(now + naps);
            last = sys_clock();
        }
    }
    return ran;
}

int main(void)
{
    uint64_t period = env_arg_u64("period_us", 10000) * 1000, budget = env_arg_u64("budget_us", 1000) * 1000;
    uint64_t naps = env_arg_u64("naps", 0);

    sys_sleep(sys_clock() + period); /* the others have started */
    for (int i = 0; i < SPANS; i++) {
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
