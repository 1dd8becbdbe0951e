/* Watches what runs on a CPU: reads the kernel's trace and says once a period, of each thread that ran, its share of the
 * processor's time, how often it got the processor, and how long it waited for it at most after it had become ready.
 * Arguments: `cpu` (default 0), `period_ms` (default 1000), `periods` (default 0: for ever). */
#include "abi.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "ashlar/trace.h"

#define THREADS 256u
#define NOBODY THREADS

struct work {
    uint64_t ran;     /* nanoseconds */
    uint64_t times;   /* it got the processor */
    uint64_t longest; /* nanoseconds from ready to running */
    uint64_t ready;   /* since when; 0: it is not, or runs */
};

static struct work work[THREADS];
static uint32_t running = NOBODY;
static uint64_t since; /* when `running` got the processor or the period began */

static void ran_until(uint64_t now)
{
    if (running < THREADS && now > since) {
        work[running].ran += now - since;
    }
    since = now;
}

static void take(const struct trace_event *event)
{
    struct work *thread = event->detail < THREADS ? &work[event->detail] : 0;

    if (event->what == TRACE_WAKE && thread != 0) {
        thread->ready = event->when;
    }
    if (event->what == TRACE_SWITCH && thread != 0) {
        ran_until(event->when);
        running = event->detail;
        thread->times++;
        if (thread->ready != 0 && event->when - thread->ready > thread->longest) {
            thread->longest = event->when - thread->ready;
        }
        thread->ready = 0;
    }
}

/* Says what was seen from `began` to `now`, and forgets it. */
static void report(uint64_t began, uint64_t now)
{
    char name[64];

    for (uint32_t i = 0; i < THREADS; i++) {
        if (work[i].times != 0 || work[i].ran != 0) {
            if (trace_thread_name(i, name, sizeof name) == 0) {
                format(name, sizeof name, "idle");
            }
            print("WATCH %s: %lu %%, %lu times, waited %lu us at most\n", name, work[i].ran * 100 / (now - began),
                  work[i].times, work[i].longest / 1000);
        }
        work[i] = (struct work){.ready = work[i].ready};
    }
}

int main(void)
{
    uint64_t period = env_arg_u64("period_ms", 1000) * 1000000;
    uint64_t periods = env_arg_u64("periods", 0);
    struct trace_reader reader;
    struct trace_event event;

    if (trace_open(&reader, (uint32_t)env_arg_u64("cpu", 0)) == 0) {
        panic("no trace: give this process `trace = true`, and `args.cpu` a CPU of the system\n");
    }
    while (trace_next(&reader, &event) != 0) {
        /* What was before does not count. */
    }
    reader.lost = 0;
    uint64_t began = sys_clock();
    since = began;
    for (uint64_t i = 1; periods == 0 || i <= periods; i++) {
        sys_sleep(began + period);
        while (trace_next(&reader, &event) != 0) {
            take(&event);
        }
        uint64_t now = sys_clock();
        ran_until(now);
        report(began, now);
        print("WATCH period %lu: %lu events lost\n", i, reader.lost);
        reader.lost = 0;
        began = now;
    }
    return 0;
}
