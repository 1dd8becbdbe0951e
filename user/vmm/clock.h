/* The monitor's clock: nanoseconds since the system's boot, and the rate of the TSC, which both the guest's time and
 * this clock come from. */
#ifndef VMM_CLOCK_H
#define VMM_CLOCK_H

#include <stdint.h>

uint64_t clock_now(void);
uint64_t clock_tsc(void);
/* Measures the TSC's rate against the clock: begin, do something else, then ask. The answer, in kHz, comes 20 ms
 * after the beginning at the earliest; it waits for that. */
void clock_measure_begin(void);
uint64_t clock_measure_khz(void);

#endif
