/* The hosted machine as its tests see it: CPUs are POSIX threads (or one thread that plays several CPUs in turn), frames
 * are ordinary memory, interrupts are bits that a CPU polls, the clock is real or set by hand.
 * Everything that arch.h promises holds here too, but nothing interrupts user code: there is none. A thread's "user
 * program" is a function that the test sets. */
#ifndef ASHLAR_HOSTED_H
#define ASHLAR_HOSTED_H

#include <stdint.h>

#include "config.h"

/* ---- machine ---- */

/* A machine just switched on, with this many CPUs: cells and frames 0, no interrupt, clock by hand at 0, the caller is
 * CPU 0. Must not be called while hosted_run_cpus runs. */
void hosted_reset(uint32_t cpus);

/* The calling POSIX thread is CPU cpu from now on. */
void hosted_set_cpu(uint32_t cpu);

/* Runs body(cpu) on a POSIX thread per CPU, cpu = 0 .. cpus - 1, and returns when all have returned. */
void hosted_run_cpus(uint32_t cpus, void (*body)(uint32_t cpu));

/* Ends body on this CPU, from however deep. */
void hosted_leave_cpu(void) __attribute__((noreturn));

/* ---- clock ---- */
void hosted_clock_set(uint64_t ns);     /* by hand: the clock stands still at ns */
void hosted_clock_advance(uint64_t ns);
void hosted_clock_real(void);           /* from now on the clock runs */
uint64_t hosted_alarm(uint32_t cpu);    /* what the CPU's alarm is set to, UINT64_MAX if it is not */
uint64_t hosted_alarm_writes(void);     /* calls of arch_timer_arm since reset, on all CPUs */

/* ---- interrupts ---- */
void hosted_raise(uint32_t cpu, uint32_t vector);
uint32_t hosted_raised(uint32_t cpu, uint32_t vector); /* 1 if it waits, else 0 */
void hosted_lower(uint32_t cpu, uint32_t vector);
uint32_t hosted_line_open(uint32_t line);              /* 1 if routed and not masked */
void hosted_raise_line(uint32_t line);                 /* as the device would: to its CPU, if open; kept if masked */

/* Called by arch_idle each time it finds nothing to do; the clock by hand may be advanced there. */
void hosted_on_idle(void (*idle)(uint32_t cpu));

/* ---- memory and translation ---- */
#define HOSTED_FIRST_FRAME 256u         /* a sensible range for frame_make_usable */
#define HOSTED_FRAMES 65536u

/* The frame that user code on this CPU reaches at vaddr, by a kept translation or the loaded page map; NONE: page fault.
 * write 1: needs a writable page. Translations are kept until invalidated, as a processor does. */
uint32_t hosted_reach(uint64_t vaddr, uint32_t write);
uint32_t hosted_loaded_root(uint32_t cpu); /* NONE: the kernel's own map */

/* ---- threads ---- */

/* Contexts are real: each thread has a stack, arch_switch continues it where it was. A thread's first switch calls
 * trap_leave(), then user(t); user must not return. */
void hosted_set_user(void (*user)(uint32_t thread));

/* 1: arch_switch only records the switch and returns, so that one test plays all threads of a CPU; 0: real contexts. */
void hosted_simulate_switch(uint32_t simulate);
uint32_t hosted_running(uint32_t cpu); /* the thread last switched to on this CPU */
uint64_t hosted_switches(void);        /* since reset */
uint32_t hosted_fpu_uses(void);        /* calls of arch_fpu_use since reset */

/* ---- devices ---- */
void hosted_serial_input(const char *bytes, uint32_t n);
uint32_t hosted_serial_output(char *bytes, uint32_t room); /* takes what was sent; returns its length */
void hosted_serial_set_room(uint32_t room);                /* what arch_serial_room says, each put uses one; default 16 always */
uint32_t hosted_serial_transmit_enabled(void);
void hosted_keyboard_input(uint32_t scan_code);
void hosted_port_set(uint32_t port, uint32_t value);       /* what the next arch_port_in gives */
uint32_t hosted_port_value(uint32_t port);                 /* what was written last */

/* ---- IOMMU ---- */
void hosted_iommu_set_levels(uint32_t levels);             /* 3 or 4: the machine has one; 0, as after reset: none */

/* The frame that the device with this function number (below 256) reaches at address; NONE: refused, and recorded as long as
 * there is room for 64 records. */
uint32_t hosted_iommu_reach(uint32_t function, uint64_t address, uint32_t write);

#endif
