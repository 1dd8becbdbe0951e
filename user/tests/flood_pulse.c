/* The real-time client beside a guest that floods: every period it wakes, calls the controller behind endpoint `control`, and takes how
 * long it was from the moment that it was due to the answer, in ns, which are instructions where these are counted. At the end it says
 * the worst of each flood. Arguments: `period_us`, and `bound_us`, which no answer may take. */
#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"
#include "flood_schedule.h"

struct worst {
    uint64_t woken, answered, jobs;
};

static struct worst worst[FLOODS];
static uint64_t period, skipped;
static uint32_t control;

/* Returns when the next job is due. */
static uint64_t job(uint64_t due, struct worst *of)
{
    static uint64_t sum, sample;

    sys_sleep(due);
    uint64_t woken = sys_clock(), word = ++sample;
    sum += sample;
    if (message_call1(control, &word) != STATUS_OK || word != sum) {
        panic("PULSE the controller answers wrongly\n");
    }
    uint64_t answered = sys_clock();
    of->woken = woken - due > of->woken ? woken - due : of->woken;
    of->answered = answered - due > of->answered ? answered - due : of->answered;
    of->jobs++;
    due += period;
    for (; due <= answered; due += period) {
        skipped++;
    }
    return due;
}

int main(void)
{
    uint64_t bound = env_arg_u64("bound_us", 0) * 1000, due = FLOOD_BEGIN;
    struct worst between;

    control = env_slot("endpoint.control");
    period = env_arg_u64("period_us", 1000) * 1000;
    if (sys_clock() >= FLOOD_BEGIN) {
        panic("PULSE is ready too late\n");
    }
    for (uint32_t i = 0; i < FLOODS; i++) {
        while (due < flood_begin(i)) {
            due = job(due, &between);
        }
        while (due < flood_end(i)) {
            due = job(due, &worst[i]);
        }
    }
    while (due < flood_begin(FLOODS)) {
        due = job(due, &between);
    }
    for (uint32_t i = 0; i < FLOODS; i++) {
        const struct worst *w = &worst[i];
        print("PULSE flood of %s: worst wake-up %lu, worst answer %lu, bound %lu, of %lu: %s\n", flood_name[i],
              w->woken, w->answered, bound, w->jobs, w->answered <= bound && w->jobs != 0 ? "kept" : "BEYOND");
    }
    print("PULSE-DONE, %lu skipped\n", skipped);
    for (;;) {
        sys_sleep(sys_clock() + period);
    }
}
