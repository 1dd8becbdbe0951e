/* What the files of the syscall layer use of each other. No other layer includes this. */
#ifndef ASHLAR_SYSCALL_PARTS_H
#define ASHLAR_SYSCALL_PARTS_H

#include <stdint.h>

/* 1 if the slot in the thread's saved rdi holds a grant of this kind with all of these rights, else 0. */
uint32_t syscall_slot_valid(uint32_t current, uint32_t kind, uint32_t rights);

/* Object of that slot. Requires: syscall_slot_valid returned 1. */
uint32_t syscall_object(uint32_t current);

/* Checks the slot and length of a message call: the slot must hold an endpoint with this right, the length stands in
 * the saved rsi. Returns STATUS_OK, ERR_BAD_SLOT, ERR_BAD_ARGUMENT. */
uint32_t syscall_message_valid(uint32_t current, uint32_t right);

/* The badge of the caller's slot. Requires: syscall_slot_valid returned 1. */
uint64_t syscall_badge(uint32_t current);

/* STATUS_RESTART if an interrupt waits, else STATUS_OK. A long call with more to do returns on STATUS_RESTART. */
uint32_t syscall_preemption(void);

/* All calls but those of the fast path. Returns as syscall_dispatch. */
uint32_t syscall_dispatch_other(uint32_t current, uint64_t number);

#endif
