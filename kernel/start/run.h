/* From start-up into the kernel. */
#ifndef ASHLAR_RUN_H
#define ASHLAR_RUN_H

/* Every CPU, once: its scheduler is ready. Requires all layers initialised, interrupts off. */
void run_init_cpu(void);

/* The idle loop of the CPU that runs this, on its idle thread's stack. Does not return. */
void run_idle(void);

#endif
