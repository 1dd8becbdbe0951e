/* The hand-over from start-up to the kernel. */
#ifndef ASHLAR_RUN_H
#define ASHLAR_RUN_H

/* Initialises the scheduler of this CPU. Every CPU, once. Requires all layers initialised, interrupts off. */
void run_init_cpu(void);

/* The idle loop of this CPU, on its idle thread's stack. Does not return. */
void run_idle(void);

#endif
