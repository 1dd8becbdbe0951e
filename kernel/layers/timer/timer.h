/* Time in nanoseconds since boot, the same on all CPUs, and one alarm per CPU. */
#ifndef ASHLAR_TIMER_H
#define ASHLAR_TIMER_H

#include <stdint.h>

#define TIMER_NEVER 0xfffffffffffffffful /* no deadline */

/* All alarms stopped. Requires: start-up. */
void timer_init(void);

/* Nanoseconds since boot. */
uint64_t timer_now(void);

/* Asks for one VECTOR_TIMER on this CPU at `deadline` or soon after; replaces an earlier request. A deadline in the
 * past interrupts at once. A deadline more than a few seconds away may interrupt early: the caller compares
 * timer_now() and arms again. */
void timer_arm(uint64_t deadline);

/* Cancels the request of this CPU. An interrupt that is already pending still comes. */
void timer_stop(void);

/* What this CPU's alarm is set to, TIMER_NEVER if stopped. */
uint64_t timer_armed(void);

#endif
