/* Saved user registers of each thread: stored by the kernel entry, loaded on return to user mode. Accessed by the
 * thread itself while it is in the kernel; while it is blocked, by the holder of the lock of the object it waits on.
 * All functions require t < NUM_THREAD. */
#ifndef ASHLAR_UCTX_H
#define ASHLAR_UCTX_H

#include <stdint.h>

#include "config.h"

/* Register reg (UCTX_* of arch.h). */
uint64_t uctx_get(uint32_t t, uint32_t reg);
void uctx_set(uint32_t t, uint32_t reg, uint64_t value);

/* Message register i < MESSAGE_REGISTER_WORDS, in the order of abi.h. */
uint64_t uctx_word(uint32_t t, uint32_t i);
void uctx_set_word(uint32_t t, uint32_t i, uint64_t value);

/* Copies the first n message registers. Requires: n <= MESSAGE_REGISTER_WORDS. */
void uctx_copy_words(uint32_t to, uint32_t from, uint32_t n);

/* Copies the first UCTX_FIRST_WORDS, without a test. */
#define UCTX_FIRST_WORDS 4u
void uctx_copy_first(uint32_t to, uint32_t from);

/* A new program: all registers 0 but ip = entry, sp = stack, rdi = argument; fresh vector state.
 * Requires: t runs nowhere. */
void uctx_init(uint32_t t, uint64_t entry, uint64_t stack, uint64_t argument);

uint32_t uctx_check(void);

#endif
