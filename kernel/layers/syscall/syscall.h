/* System calls. A function for each call validates its arguments against the caller's grants and address space,
 * does the work, and leaves the outcome in the caller's saved registers. A refused call changes nothing but rax.
 * The dispatcher, syscall.c, and the functions' declarations are generated from kernel/syscalls.toml. */
#ifndef ASHLAR_SYSCALL_H
#define ASHLAR_SYSCALL_H

#include <stdint.h>

#include "config.h"

#define SYSCALL_INSTRUCTION_BYTES 2ul

/* Runs the call that stands in the saved registers of the current thread; first and second are the saved rdi and rsi.
 * Requires: no lock held; the thread's process is RUNNING or DYING. Ensures: the outcome stands in the saved registers; a
 * preempted long call has its saved ip back on the system-call instruction and its progress in the argument registers or
 * in the object.
 * Returns what the caller does next: SYSCALL_WINDOW: opens an interrupt window, then decides who runs; SYSCALL_SWITCH:
 * decides at once, since the call was to wake or to wait; SYSCALL_ENDS: ends the thread, the call was SYS_THREAD_EXIT;
 * SYSCALL_CONTINUE: opens an interrupt window, calls syscall_continue, then decides; SYSCALL_DONE: goes back to user mode, since no reschedule is pending, and if the thread has been
 * switched to, its process was not ending then. */
#define SYSCALL_SWITCH 0u
#define SYSCALL_ENDS 1u
#define SYSCALL_WINDOW 2u
#define SYSCALL_DONE 3u
#define SYSCALL_CONTINUE 4u
uint32_t syscall_dispatch(uint32_t current, uint64_t first, uint64_t second);

/* The second half of a call, by the number and arguments in the saved registers: SYS_REPLY_RECV receives and SYS_WAIT waits,
 * unless the thread's process is ending; calls for buffers do what they have waited for. Requires: syscall_dispatch has
 * returned SYSCALL_CONTINUE. */
void syscall_continue(uint32_t current);

#endif
