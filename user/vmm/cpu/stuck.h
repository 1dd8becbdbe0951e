/* Virtual CPUs that only another one could wake: halted with interrupts off, or waiting for a start-up message. A guest all of whose
 * CPUs are stuck stays so. */
#ifndef VMM_STUCK_H
#define VMM_STUCK_H

#include <stdint.h>

struct cpu;

/* The CPU is stuck from here on, until stuck_end(). Called by its own thread, which sends nothing meanwhile, nor takes what is in its
 * inbox. */
void stuck_begin(struct cpu *cpu);
/* Does nothing if it is not stuck. */
void stuck_end(struct cpu *cpu);
/* Are all CPUs stuck, with nothing in any inbox? Asked by a stuck CPU; of those that get stuck the last one finds it. */
uint32_t all_are_stuck(void);

#endif
