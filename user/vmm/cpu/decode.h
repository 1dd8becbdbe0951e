/* A decoder for the instructions with which drivers reach device memory: moves between a register or constant and
 * memory, and OR, AND, XOR to memory. Pure code. */
#ifndef VMM_DECODE_H
#define VMM_DECODE_H

#include <stdint.h>

#include "cpu/segments.h"

#define DECODE_MAX 15u

struct decoded {
    uint32_t length;      /* of the instruction, bytes */
    uint32_t size;        /* of the access: 1 2 4 8 */
    uint32_t write;       /* 1: memory is written */
    uint32_t is_constant; /* the value written is `constant`, not a register */
    uint64_t constant;
    uint32_t reg;       /* 0..15 */
    uint32_t high_byte; /* the register is ah ch dh bh (reg is 0..3) */
    uint32_t extend;    /* bytes of the register that a read sets: 1 2 4 8; more than size: extended */
    uint32_t sign;      /* extended by sign */
    uint32_t combine;   /* write: DECODE_* with what is there; the flags follow the result */
};

#define DECODE_MOVE 0u
#define DECODE_OR 1u
#define DECODE_AND 2u
#define DECODE_XOR 3u

/* Decodes code of `mode` 16, 32 or 64 bits. Returns 1, or 0 if it is no such move or the bytes end before it does. */
uint32_t decode_move(const uint8_t *code, uint32_t bytes, uint32_t mode, struct decoded *result);
/* The segment that the instruction's prefixes name; `otherwise` if none does. */
uint32_t decode_segment(const uint8_t *code, uint32_t bytes, uint32_t otherwise);

#endif
