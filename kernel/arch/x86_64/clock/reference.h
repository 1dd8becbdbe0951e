/* A clock of known frequency to measure the others against: HPET, else ACPI power-management timer, else PIT. */
#ifndef ASHLAR_X86_64_REFERENCE_H
#define ASHLAR_X86_64_REFERENCE_H

#include <stdint.h>

const char *reference_find(void); /* its name, or 0 if none runs */
void reference_start(void);       /* before a window */
uint64_t reference_read(void);
uint64_t reference_step_ns(void);                     /* between two of its values, rounded up */
uint64_t reference_ns(uint64_t first, uint64_t last); /* nanoseconds between two readings of one window */

#endif
