/* Model-specific registers that exit to the monitor (those in the vcpu page that the kernel does not let the guest
 * touch directly, and those Linux asks for without needing them). Unknown ones raise #GP, as on hardware. */
#ifndef VMM_MSR_H
#define VMM_MSR_H

#include "cpu/cpu.h"

/* The two exits; the register's number is in rcx. */
void msr_read_exit(struct cpu *cpu);
void msr_write_exit(struct cpu *cpu);

#endif
