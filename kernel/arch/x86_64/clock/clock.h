#ifndef ASHLAR_X86_64_CLOCK_H
#define ASHLAR_X86_64_CLOCK_H

#include <stdint.h>

/* Notes the moment at which the kernel was entered; first of all. */
void clock_note_entry(void);

/* Measures the TSC and the local timer against the best reference the machine has. Start-up, once, first CPU. Returns
 * the name of the reference, or 0 if no reference clock runs. */
const char *clock_calibrate(void);

/* Sets up the local timer of this CPU. Requires clock_calibrate(). */
void clock_init_cpu(void);

uint64_t clock_since_entry_us(void); /* microseconds; requires clock_calibrate() */
uint64_t clock_tsc_hz(void);
uint64_t clock_timer_hz(void); /* of the local timer; 0 if the TSC deadline is used */

#endif
