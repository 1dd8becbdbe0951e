/* What the files of the syscall layer use of each other. No other layer includes this. */
#ifndef ASHLAR_SYSCALL_PARTS_H
#define ASHLAR_SYSCALL_PARTS_H

#include <stdint.h>

#define NO_GRANT 0xfffffffffffffffful

/* The grant (process_grant) in this slot of the thread's process if it is of this kind with all of these rights, else
 * NO_GRANT: the one check of a slot. */
uint64_t syscall_grant(uint32_t current, uint64_t slot, uint32_t kind, uint32_t rights);

/* The same for the slot in the thread's saved rdi: 1 if it holds such a grant, else 0. */
uint32_t syscall_slot_valid(uint32_t current, uint32_t kind, uint32_t rights);

/* Object of that slot. Requires: syscall_slot_valid returned 1. */
uint32_t syscall_object(uint32_t current);

/* The call leaves the vector unit, which a switch would have to do, and is made again: so what it saves, and what the call does,
 * are two regions between which interrupts are taken. Returns SYSCALL_WINDOW. Requires: arch_fpu_left() is 0, nothing is done
 * yet. */
uint32_t syscall_leave_unit(uint32_t current);

/* What follows a call that may have waited (syscall_dispatch): SYSCALL_DONE if the thread leaves at once, else
 * SYSCALL_SWITCH. */
uint32_t syscall_after(uint32_t at_once);

/* Second halves of calls: SYS_WAIT behind its signal, with a deadline; SYS_BUFFER_INSERT and SYS_BUFFER_REMOVE behind their
 * wait. */
void syscall_wait_only(uint32_t current);
void syscall_buffer_inserted(uint32_t current);
void syscall_buffer_removed(uint32_t current);

/* STATUS_RESTART if an interrupt waits, else STATUS_OK. A long call with more to do returns on STATUS_RESTART. */
uint32_t syscall_preemption(void);

/* All calls but those of the fast path. Returns as syscall_dispatch. */
uint32_t syscall_dispatch_other(uint32_t current, uint64_t number);

#endif
