/* Private to the trap layer; not inlined into the message path (arch/x86_64/inlining.h). */
#ifndef ASHLAR_TRAP_PARTS_H
#define ASHLAR_TRAP_PARTS_H

#include <stdint.h>

/* Opens interrupt windows and serves the interrupts that come in them, until one stays empty. It does, once those that
 * wait are served: a line is masked until its driver has handled the interrupt, and the timer and other CPUs interrupt
 * again only for something new. Of messages, which nothing masks, devices are trusted not to send one after the other. Other
 * threads may run meanwhile, those that lines of devices have woken. Requires: no lock held. */
void trap_serve_waiting(void);

/* Serves the timer's interrupt, or another CPU's: so called, so that the compiler does not join the calls in which the timing
 * analysis tells vectors apart. */
void trap_vector_of_cpu(uint32_t vector);

/* Serves the timer's interrupt: ends time slice and reservation, and does what is due first. Requires: no lock held. */
void trap_timer(void);

/* The second half of a call: interrupts that wait are served before. */
void trap_continue(uint32_t current);

/* Hands over to a thread of higher priority at once, if it can; else serves the interrupts that wait, charged to no
 * reservation, then decides who runs. Requires: a reschedule is pending, no lock held. */
void trap_reschedule(void);

/* Serves all interrupts that wait and lets threads of higher priority run, until neither is left to do. Nothing that
 * follows delays an interrupt that was served here. Requires: no lock held. */
void trap_settle(void);

/* Writes a part of a line to the kernel's console that says what process p dies of: this exception of its thread. Parts
 * of other lines may come in between. Requires: part < TRAP_REPORT_PARTS. */
#define TRAP_REPORT_PARTS 4u
void trap_report_death(uint32_t p, uint32_t thread, uint64_t vector, uint32_t part);

/* Takes a step of ending the running thread, of process p, and returns the next one. A function by itself, so that interrupts
 * are served behind all steps at one place. Requires: no lock held. */
uint32_t trap_end_step(uint32_t step, uint32_t current, uint32_t p);

/* trap_serve_waiting and trap_settle for the idle thread. */
void trap_idle_serve(void);
void trap_idle_settle(void);

#endif
