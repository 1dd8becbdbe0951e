/* What is done against leaks from one program or guest to another through speculation and shared registers, as the description
 * chooses. Its variables are written once, at start-up, before any program runs. */
#ifndef ASHLAR_X86_64_MITIGATIONS_H
#define ASHLAR_X86_64_MITIGATIONS_H

#include <stdint.h>

extern uint32_t mitigations_at_exit;      /* not 0: threads call mitigations_leave on the way to user mode */
extern uint32_t mitigations_verw;         /* 1: VERW before guests */
extern uint32_t mitigations_vector_state; /* 1: arch_fpu_leave takes vector registers away from a thread */

/* Chooses those of BOOT_MITIGATION_*. Returns 0, or the name of the first that this processor lacks. */
const char *mitigations_choose(uint32_t chosen);

/* Each CPU, after the choice. */
void mitigations_init_cpu(void);

/* The kernel is about to return to user mode: what the choice does there, and what it does if another address space than at
 * the last return of this CPU is loaded. Returns 1 if GS must be cleared as well, once it has the user's base. */
uint32_t mitigations_leave(void);

/* No address space of a process is loaded: the next one counts as another, also if it has the same root. */
void mitigations_forget_space(void);

/* Before a guest runs, and after it. */
void mitigations_around_guest(void);

#endif
