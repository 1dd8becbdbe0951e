/* The hand-over from start-up to the kernel. */
#ifndef ASHLAR_RUN_H
#define ASHLAR_RUN_H

/* Initialises the scheduler of this CPU. Every CPU, once. Requires all layers initialised, interrupts off. */
void run_init_cpu(void);

#endif
