/* The other processors. */
#ifndef ASHLAR_X86_64_SMP_H
#define ASHLAR_X86_64_SMP_H

/* Starts every CPU of `platform`, one after the other; each initialises itself and waits. Sets cpus_started. Requires
 * the clock. */
void smp_start(void);

/* Returns on another CPU of `platform`, which is the kernel's first from then on; the boot processor is stopped for good and
 * no longer part of `platform`. If the other one does not start, returns on the boot processor, and nothing has changed.
 * Requires: the clock, two CPUs, only the boot processor runs, svm_tcg_first_unfit(). */
void smp_leave_first(void);

/* Lets the waiting CPUs enter the kernel; returns when the scheduler of each is initialised. Requires that every
 * object is defined. */
void smp_release(void);

#endif
