/* Many threads with the same reservation, `period_us` and `budget_us`, and the first thread, of a higher priority,
 * starts them together and runs whenever it may: so all run out, and all begin their next period, while it runs. Each
 * must get its ten budgets in each span of ten periods, one less if a period is cut by the span's ends, and at most one
 * more. The description names the threads `t1`, `t2`, ... */
#include "meter.h"

#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/thread.h"

#define SPANS 5u
#define PERIODS 10ul
#define MAX_THREADS 128u
#define SWITCH_NS 3000ul /* of a budget, what the kernel needs to come to the thread and to leave it */

static uint64_t period, budget;
static uint64_t least[MAX_THREADS], most[MAX_THREADS];
static volatile uint32_t finished;

static void member(uint64_t self)
{
    least[self] = ~0ul;
    for (uint32_t i = 0; i < SPANS; i++) {
        struct meter meter = meter_start();
        uint64_t end = meter.last + PERIODS * period;
        while (meter_look(&meter) < end) {
        }
        least[self] = meter.ran < least[self] ? meter.ran : least[self];
        most[self] = meter.ran > most[self] ? meter.ran : most[self];
    }
    __atomic_fetch_add(&finished, 1, __ATOMIC_RELAXED);
    for (;;) { /* the others still measure */
    }
}

static uint32_t start_members(void)
{
    char name[24];

    for (uint32_t i = 1; i < MAX_THREADS; i++) {
        format(name, sizeof name, "t%u", i);
        uint32_t index = env_thread(name);
        if (index == NO_SLOT) {
            return i - 1;
        }
        uint32_t status = thread_start(index, member, i);
        if (status != STATUS_OK) {
            panic("starting thread %u: error %u\n", i, status);
        }
    }
    return MAX_THREADS - 1;
}

int main(void)
{
    period = env_arg_u64("period_us", 10000) * 1000;
    budget = env_arg_u64("budget_us", 60) * 1000;
    uint32_t count = start_members();
    while (finished < count) {
    }
    uint64_t smallest = ~0ul, largest = 0;
    for (uint32_t i = 1; i <= count; i++) {
        smallest = least[i] < smallest ? least[i] : smallest;
        largest = most[i] > largest ? most[i] : largest;
    }
    print("SPANS of %u threads: %lu to %lu us, budgets of %lu\n", count, smallest / 1000, largest / 1000,
          PERIODS * budget / 1000);
    if (smallest < (PERIODS - 1) * (budget - SWITCH_NS) || largest > (PERIODS + 1) * budget) {
        print("SHARE broken\n");
    }
    print("SHARES of %u threads kept\n", count);
    return 0;
}
