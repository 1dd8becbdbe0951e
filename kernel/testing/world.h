/* A small system on the hosted machine, for tests of the upper layers: processes and threads are defined as
 * start-up does, user programs are functions of the test that make system calls. */
#ifndef ASHLAR_TESTING_WORLD_H
#define ASHLAR_TESTING_WORLD_H

#include <stdint.h>

#include "syscall_numbers.h"

#define WORLD_FRAMES 4096u /* frames of memory */

/* A machine with this many CPUs and all layers initialised. With one CPU the clock stands still, and idling advances
 * it to the alarm; with several it runs. */
void world_start(uint32_t cpus);

/* Process p (parent or NONE) with `threads` threads, the first of them kernel thread NUM_CPU + first; thread i
 * belongs to CPU (cpu + i) modulo the CPUs there are. */
void world_process(uint32_t p, uint32_t parent, uint32_t quota, uint32_t first, uint32_t threads, uint32_t cpu,
                   uint32_t priority, uint32_t fault_endpoint);

/* Creates and loads p; starts its first thread. A refusal fails the test. */
void world_create(uint32_t p);
void world_start_process(uint32_t p);

/* Runs all CPUs, each thread with the given program, until world_stop is called and every CPU is idle. */
void world_run(void (*program)(uint32_t thread));
void world_stop(void);
uint32_t world_stopped(void);

/* ---- for programs ---- */

/* A system call of the current thread: rdi, rsi and three words. Returns the status; a preempted call is repeated
 * after the interrupt, as the processor would. Pending interrupts are served before the return. */
uint32_t user_call(uint32_t number, uint64_t a, uint64_t b, uint64_t w0, uint64_t w1, uint64_t w2);
uint64_t user_first(void); /* rdi and rsi after the last call */
uint64_t user_second(void);
uint64_t user_word(uint32_t i);
void user_set_word(uint32_t i, uint64_t value);

/* The same with the current registers, number in rax. */
uint32_t user_call_registers(void);

/* An exception in user mode. */
void user_exception(uint32_t vector, uint64_t code, uint64_t address);

/* Serves the pending interrupts of this CPU. */
void user_interrupts(void);

/* Number of restarts of user_call, all threads. */
uint64_t user_restarts(void);

#endif
