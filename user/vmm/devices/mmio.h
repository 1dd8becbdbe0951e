/* Accesses to guest-physical addresses without memory: the interrupt controllers, virtio devices, and the empty bus, where reads
 * give all ones and writes are lost. */
#ifndef VMM_MMIO_H
#define VMM_MMIO_H

#include "cpu/cpu.h"

/* Emulates the instruction of a VCPU_EXIT_MEMORY. Returns null, or why it can't: the guest is then ended. */
const char *mmio_exit(struct cpu *cpu);

#endif
