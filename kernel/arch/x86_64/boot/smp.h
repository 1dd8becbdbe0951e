/* The other processors. */
#ifndef ASHLAR_X86_64_SMP_H
#define ASHLAR_X86_64_SMP_H

/* Starts every CPU of `platform`, one after the other; each initialises itself and waits. Sets cpus_started. Requires
 * the clock. */
void smp_start(void);

/* Lets the waiting CPUs enter the kernel; returns when the scheduler of each is initialised. Requires that every
 * object is defined. */
void smp_release(void);

#endif
