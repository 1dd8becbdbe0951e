/* Has a server without a reservation work for it, on its own: `period_us` and `budget_us` repeat that, `call_us` is the
 * work of one call. It sleeps when four fifths of its budget are spent, until the next multiple of its period, by which
 * all must be done. A greedy client (`greedy`) calls all the time: with what the server did for it, it must get
 * its ten budgets in a span of ten periods, one less if a period is cut by the span's ends, and at most one more. */
#include "meter.h"

#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"

#define SPANS 5u
#define PERIODS 10ul
#define CALLS_PERCENT 96 /* of the time; the kernel needs the rest */

static uint64_t period, budget, work_ns;
static uint32_t work;

/* One call; returns what the server worked: no more than the budgets of the periods that its work touched, and one in
 * advance. */
static uint64_t call(void)
{
    struct message message = {.count = 1, .word = {work_ns}};
    uint32_t status = message_call(work, &message);
    if (status != STATUS_OK) {
        panic("calling the server: error %u\n", status);
    }
    uint64_t periods = message.word[1] / period + 2, served = message.word[0];
    if (served > (periods + 1) * budget) {
        print("SHARE broken: %lu us within %lu periods\n", served / 1000, periods);
    }
    return served;
}

/* Calls in each period until four fifths of the budget are spent. */
static void be_modest(void)
{
    uint64_t begin = (sys_clock() / period + 1) * period;

    for (uint64_t i = 0; i < SPANS * PERIODS; i++) {
        sys_sleep(begin);
        begin += period;
        for (uint64_t worked = 0; worked < budget / 5 * 4; worked += call()) {
        }
        uint64_t now = sys_clock();
        if (now > begin) {
            print("SHARE broken: period %lu is over for %lu us\n", i, (now - begin) / 1000);
        }
    }
}

static void be_greedy(void)
{
    for (uint32_t i = 0; i < SPANS; i++) {
        struct meter meter = meter_start();
        uint64_t end = meter.last + PERIODS * period, served = 0;
        while (meter_look(&meter) < end) {
            served += call();
            meter_skip(&meter);
        }
        uint64_t ran = meter.ran + served;
        print("SPAN %lu of %lu us\n", ran / 1000, PERIODS * period / 1000);
        if (ran + work_ns < (PERIODS - 1) * budget / 100 * CALLS_PERCENT || ran > (PERIODS + 1) * budget + work_ns) {
            print("SHARE broken: %lu us of %lu\n", ran / 1000, PERIODS * budget / 1000);
        }
    }
}

int main(void)
{
    period = env_arg_u64("period_us", 10000) * 1000;
    budget = env_arg_u64("budget_us", 500) * 1000;
    work_ns = env_arg_u64("call_us", 50) * 1000;
    work = env_slot("endpoint.work");
    if (env_arg_u64("greedy", 0) != 0) {
        be_greedy();
    } else {
        be_modest();
    }
    print("SHARES kept\n");
    for (;;) { /* the others still measure */
        sys_sleep(DEADLINE_NEVER);
    }
}
