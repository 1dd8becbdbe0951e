/* The loop that runs a virtual CPU. */
#ifndef VMM_RUN_H
#define VMM_RUN_H

#include "cpu/cpu.h"

/* Runs the CPU from the state in its page until the guest's run ends, by this CPU or another (machine_end). To be called by the
 * CPU's own thread. */
void run_cpu(struct cpu *cpu);

#endif
