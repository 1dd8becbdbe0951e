/* Accesses to guest-physical addresses without memory. There are no memory-mapped devices: reads give all ones,
 * writes are lost, as on a PC's empty bus. */
#ifndef VMM_MMIO_H
#define VMM_MMIO_H

#include <stdint.h>

/* Emulates the instruction of a VCPU_EXIT_MEMORY. Returns null, or why it can't: the guest is then ended. */
const char *mmio_exit(void);

#endif
