/* Threads of this process. How many there are, on which CPU and at which priority, the system description says. */
#ifndef ASHLAR_THREAD_H
#define ASHLAR_THREAD_H

#include <stdint.h>

#define THREAD_STACK_PAGES 16u

typedef void (*thread_function)(uint64_t argument);

/* Starts thread `index` (env_thread() gives it by name) at `function` on a fresh stack of THREAD_STACK_PAGES pages
 * with unmapped pages around it. The thread ends when the function returns. Returns a status; ERR_QUOTA if the
 * stack cannot be paid. A thread's stack is kept for its next start. */
uint32_t thread_start(uint32_t index, thread_function function, uint64_t argument);

#endif
