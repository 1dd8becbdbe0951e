/* The way of interrupt messages: from local controllers and the I/O controller to virtual CPUs. */
#ifndef VMM_IPI_H
#define VMM_IPI_H

#include <stdint.h>

#include "cpu/cpu.h"

/* Does what the guest's last access to the local controller of `cpu` has caused elsewhere: a command for other CPUs, the end of an
 * interrupt that a level has requested. Requires: the machine's lock is not held. */
void ipi_follow(struct cpu *cpu);

#endif
