/* Threads for layers whose operations belong to threads. A switch is only recorded, so one program plays all threads and CPUs:
 * where a thread blocks, the call returns, and what the thread does next is another operation. */
#ifndef ASHLAR_THREADS_H
#define ASHLAR_THREADS_H

#include "arch.h"
#include "driver.h"
#include "queue.h"
#include "reschedule.h"
#include "sched.h"
#include "thread.h"
#include "timer.h"

static uint32_t created[NUM_THREAD];
static uint32_t num_created;

/* A machine with so many CPUs, which idle. */
static inline void start_threads(uint32_t cpus)
{
    hosted_reset(cpus);
    hosted_simulate_switch(1);
    queue_init();
    thread_init();
    timer_init();
    sched_init();
    for (uint32_t cpu = 0; cpu < cpus; cpu++) {
        hosted_set_cpu(cpu);
        sched_init_cpu();
    }
    hosted_set_cpu(0);
    num_created = 0;
}

/* Each CPU serves its interrupts, one for each thread that others have woken, and leaves the kernel. */
static inline void settle(void)
{
    for (uint32_t cpu = 0; cpu < arch_cpu_count(); cpu++) {
        hosted_set_cpu(cpu);
        while (hosted_raised(cpu, VECTOR_RESCHEDULE)) {
            hosted_lower(cpu, VECTOR_RESCHEDULE);
            sched_drain_pending();
        }
        test_reschedule();
    }
}

/* A new thread, ready to run on CPU t modulo their number. All have one priority. */
static inline void create_thread(uint32_t t)
{
    uint32_t cpu = t % arch_cpu_count();

    created[num_created++] = t;
    thread_define(t, 0, cpu, 100);
    hosted_set_cpu(cpu);
    thread_reset(t, NONE);
    sched_ready(t);
    settle();
}

/* t, which can run, does so on its CPU: the others there come after it. */
static inline void run_thread(uint32_t t)
{
    hosted_set_cpu(thread_cpu(t));
    for (uint32_t i = 0; i <= num_created && thread_current() != t; i++) {
        sched_yield();
        test_reschedule();
    }
}

#endif
