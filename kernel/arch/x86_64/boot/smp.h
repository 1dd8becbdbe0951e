/* The other processors. */
#ifndef ASHLAR_X86_64_SMP_H
#define ASHLAR_X86_64_SMP_H

/* Starts every CPU of `platform`, one after the other; each sets itself up and waits. Sets cpus_started. Requires the
 * clock. */
void smp_start(void);

/* Lets the waiting CPUs into the kernel; returns when each has set its scheduler up and is in its idle loop. Requires
 * that every object is defined. */
void smp_release(void);

#endif
