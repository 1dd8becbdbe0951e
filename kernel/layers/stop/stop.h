/* Stop-machine: one CPU stops all others, to walk tables that no CPU may change meanwhile. A CPU stops at an
 * interrupt, where it holds no lock and each operation in progress has left a consistent state. Debug builds only:
 * without DEBUG no CPU is ever stopped.
 *
 * Cells: CELL_STOP_STATE says whether a CPU stops the others, CELL_STOP_HELD counts the stopped CPUs. */
#ifndef ASHLAR_STOP_H
#define ASHLAR_STOP_H

#include <stdint.h>

#include "config.h"

/* Stops all other CPUs. Requires: no lock held. Returns 1 when they have stopped; 0 if another CPU is stopping
 * this one: the caller must serve its interrupts, then try again. */
uint32_t stop_other_cpus(void);

/* Lets the other CPUs run again. Requires: stop_other_cpus returned 1. */
void stop_resume(void);

/* If another CPU stops this one, waits until it resumes. Requires: called at an interrupt, no lock held. */
void stop_here(void);

/* Invariants (debug builds): 0, or the number of the broken one. Requires: all other CPUs are stopped. */
uint32_t stop_check(void);

#endif
