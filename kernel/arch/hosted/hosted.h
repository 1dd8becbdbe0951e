/* The hosted machine as its tests see it: CPUs are POSIX threads (or one thread that plays several CPUs in turn),
 * frames are ordinary memory, interrupts are bits that a CPU polls, the clock is real or set by hand. Everything that
 * arch.h promises holds here too. User code is not interrupted: a thread's "user program" is a function of the test. */
#ifndef ASHLAR_HOSTED_H
#define ASHLAR_HOSTED_H

#include <stdint.h>

#include "config.h"

/* ---- machine ---- */

/* Resets the machine to this many CPUs: cells and frames 0, no pending interrupt, clock set to 0 and standing still,
 * the caller is CPU 0. Must not be called while hosted_run_cpus runs. */
void hosted_reset(uint32_t cpus);

/* The calling POSIX thread is CPU cpu from now on. */
void hosted_set_cpu(uint32_t cpu);

/* Runs body(cpu) on a POSIX thread per CPU, cpu = 0 .. cpus - 1, and returns when all have returned. */
void hosted_run_cpus(uint32_t cpus, void (*body)(uint32_t cpu));

/* Returns from body on this CPU, from any depth of calls. */
void hosted_leave_cpu(void) __attribute__((noreturn));

/* ---- clock ---- */
void hosted_clock_set(uint64_t ns); /* the clock stands still at ns */
void hosted_clock_advance(uint64_t ns);
void hosted_clock_real(void);        /* from now on the clock runs */
uint64_t hosted_alarm(uint32_t cpu); /* time of the CPU's alarm, UINT64_MAX if none is set */
uint64_t hosted_alarm_writes(void);  /* calls of arch_timer_arm since reset, on all CPUs */

/* ---- interrupts ---- */
void hosted_raise(uint32_t cpu, uint32_t vector);
void hosted_raise_next(uint32_t vector); /* on this CPU, when arch_interrupt_pending has returned the next time */
uint32_t hosted_raised(uint32_t cpu, uint32_t vector); /* 1 if it is pending, else 0 */
void hosted_lower(uint32_t cpu, uint32_t vector);
uint32_t hosted_line_open(uint32_t line); /* 1 if routed and not masked */
/* As the device would: to the line's CPU; pending while masked. */
void hosted_raise_line(uint32_t line);

/* Called by arch_idle while no interrupt is pending; the test may advance the clock there. */
void hosted_on_idle(void (*idle)(uint32_t cpu));

/* ---- memory and translation ---- */
#define HOSTED_FIRST_FRAME 256u /* a range for frame_make_usable */
#define HOSTED_FRAMES 65536u

/* The frame that user code on this CPU reaches at vaddr, by a cached translation or the loaded page map; NONE: page
 * fault. write 1: needs a writable page. Translations are cached until invalidated, as in a processor. */
uint32_t hosted_reach(uint64_t vaddr, uint32_t write);

/* ---- threads ---- */

/* Each thread has a stack of its own; arch_switch resumes it where it was. The first switch to a thread calls
 * trap_leave(), then user(t), which must not return. */
void hosted_set_user(void (*user)(uint32_t thread));

/* 1: arch_switch only records the switch and returns, so that one test plays all threads of a CPU; 0: real contexts. */
void hosted_simulate_switch(uint32_t simulate);
uint32_t hosted_running(uint32_t cpu); /* the thread last switched to on this CPU */
uint64_t hosted_switches(void);        /* since reset */
uint32_t hosted_fpu_uses(void);        /* calls of arch_fpu_use since reset */

/* ---- devices ---- */
void hosted_serial_input(const char *bytes, uint32_t n);
uint32_t hosted_serial_output(char *bytes, uint32_t room); /* takes the bytes sent; returns their number */
/* Room that arch_serial_status reports, decremented by each put; default: always 16. */
void hosted_serial_set_room(uint32_t room);
uint32_t hosted_serial_transmit_enabled(void);
void hosted_keyboard_input(uint32_t scan_code);
void hosted_port_set(uint32_t port, uint32_t value); /* result of the next arch_port_in */
uint32_t hosted_port_value(uint32_t port);           /* the last value written */

/* ---- IOMMU ---- */
/* 3 or 4: the machine has an IOMMU; 0, as after reset: none. */
void hosted_iommu_set_levels(uint32_t levels);

/* The frame that the device with this function number (below 256) reaches at address; NONE: refused, and recorded if
 * fewer than 64 records are pending. */
uint32_t hosted_iommu_reach(uint32_t function, uint64_t address, uint32_t write);

#endif
