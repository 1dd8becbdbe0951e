/* Private to the scheduler: what it keeps of each CPU, in one cache line. No function has a requirement but cpu < NUM_CPU. */
#ifndef ASHLAR_SCHED_CPU_H
#define ASHLAR_SCHED_CPU_H

#include <stdint.h>

void sched_cpu_init(void);

/* End of the running thread's slice; TIMER_NEVER: no thread of its priority waits. Set by sched.c. */
uint64_t sched_cpu_slice_end(uint32_t cpu);
void sched_cpu_set_slice_end(uint32_t cpu, uint64_t when);

/* Time up to which the charged reservation has been charged. Set by sched_budget.c. */
uint64_t sched_cpu_since(uint32_t cpu);
void sched_cpu_set_since(uint32_t cpu, uint64_t when);

/* The time of the alarm; TIMER_NEVER: none is set. Set by sched_alarm.c. */
uint64_t sched_cpu_alarm(uint32_t cpu);
void sched_cpu_set_alarm(uint32_t cpu, uint64_t when);

/* Priority of the running thread plus 1; 0 while idle. Set by sched.c. */
uint32_t sched_cpu_running(uint32_t cpu);
void sched_cpu_set_running(uint32_t cpu, uint32_t level);

/* 1: the running thread's slice is over or it yielded. Set by sched.c. */
uint32_t sched_cpu_slice_over(uint32_t cpu);
void sched_cpu_set_slice_over(uint32_t cpu, uint32_t over);

/* The thread to run next, still marked blocked; NONE: the first of the ready queues. Set by sched_wake.c. */
uint32_t sched_cpu_kept(uint32_t cpu);
void sched_cpu_set_kept(uint32_t cpu, uint32_t t);

/* The reservation that the running thread spends, or NONE. Set by sched_budget.c. */
uint32_t sched_cpu_charged(uint32_t cpu);
void sched_cpu_set_charged(uint32_t cpu, uint32_t r);

/* The first free place of the CPU's heap of events. Set by sched_event.c. */
uint32_t sched_cpu_events(uint32_t cpu);
void sched_cpu_set_events(uint32_t cpu, uint32_t end);

#endif
