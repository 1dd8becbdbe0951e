/* What happens on each CPU and when, for `ashlar trace`. Only kernels built with TRACE=1 record; in others the calls are not
 * compiled. */
#ifndef ASHLAR_TRACE_H
#define ASHLAR_TRACE_H

#include <stdint.h>

/* What happened, and what the detail is. */
#define TRACE_SWITCH 1u    /* a thread gets the processor: its number */
#define TRACE_WAKE 2u      /* a thread becomes ready: its number */
#define TRACE_CALL 3u      /* a system call begins: its number */
#define TRACE_MESSAGE 4u   /* a message is delivered: the receiving thread */
#define TRACE_INTERRUPT 5u /* an interrupt is served: its vector */
#define TRACE_EXIT 6u      /* a guest stops: VCPU_EXIT_* */
#define TRACE_ENTER 10u    /* a guest runs: the number of its virtual machine */
#define TRACE_SPENT 7u     /* the running thread's budget ends: its number */
#define TRACE_PERIOD 8u    /* a thread's next period begins: its number */
#define TRACE_FAULT 9u     /* a program faults: the exception's vector */

/* Requires: the caller's CPU is in the kernel, interrupts off. */
void trace_event(uint32_t what, uint32_t detail);

#endif
