/* The guest's HLT, where an exit stands right before it. */
#ifndef VMM_HALT_H
#define VMM_HALT_H

#include <stdint.h>

/* 1 if the guest, which has exited between two instructions, would halt next and be woken by an interrupt. Reads the guest's
 * code by 4 levels of page tables or none; 0 where it has others. */
uint32_t halt_is_next(volatile const uint64_t *vcpu);

#endif
