/* Moves from and to debug registers, which exit where the guest's breakpoints would be the host's: the registers are words of
 * the vcpu page then, and no breakpoint strikes. */
#ifndef VMM_DEBUG_H
#define VMM_DEBUG_H

#include <stdint.h>

struct debug_move {
    uint32_t length; /* of the instruction, bytes */
    uint32_t debug;  /* 0..7 */
    uint32_t reg;    /* general register 0..15 */
    uint32_t write;  /* 1: the debug register is written */
};

/* Decodes the instruction. Returns 1, or 0 if it is no such move or the bytes end before it does. */
uint32_t debug_decode(const uint8_t *code, uint32_t bytes, uint32_t long_mode, struct debug_move *result);

/* The exit: emulates the instruction, or gives the guest the exception that it raises. */
void debug_register_exit(volatile uint64_t *vcpu);

#endif
