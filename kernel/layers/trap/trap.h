/* Where the kernel is entered and left. The entry assembly has saved the user registers in the current thread's
 * context and runs on the thread's kernel stack with interrupts off; it calls one of these, each of which reschedules
 * before it returns if there is need, and then restores the thread's registers. */
#ifndef ASHLAR_TRAP_H
#define ASHLAR_TRAP_H

#include <stdint.h>

#include "config.h"

/* Initialises the layers from cv up to trap; start-up calls this before it defines their objects. Requires: one CPU
 * runs, queue and thread are initialised. */
void trap_init(void);

/* A `syscall` instruction. The entry passes rdi and rsi, which it has also saved. */
void trap_syscall(uint64_t first, uint64_t second);

/* An exception in user mode: vector, error code and fault address stand in the saved context. */
void trap_exception(void);

/* An interrupt taken in user mode. (Those taken at arch_interrupt_poll and arch_idle return their vector there.) */
void trap_interrupt(uint32_t vector);

/* A new thread's first kernel frame (arch_thread_init): goes to user mode for the first time, without rescheduling:
 * the thread has just been chosen. */
void trap_leave(void);

/* Ends the current thread, which is marked as ending: called in place of going to user mode, behind one of the above, on
 * the thread's empty kernel stack. The last thread of a process tears the process down, in bounded steps with interrupts and
 * reschedules in between. Does not return. */
void trap_end(void);

/* The idle thread's loop, one per CPU; start-up calls it last, with an empty stack. Does not return. */
void trap_idle(void);

uint32_t trap_check(void);

#endif
