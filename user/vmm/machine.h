/* The guest's machine: its virtual CPUs and the devices they share.
 *
 * One lock guards the devices: 8259 pair, I/O controller, interval timer, clock, serial port and the console behind it, virtio
 * devices and the links behind them, power registers. It is taken by the functions that serve an exit or an event, for that one
 * access, and never held while the guest runs or the thread waits. What is a virtual CPU's own (cpu/cpu.h) needs no lock: others
 * reach it through its inbox. The thread of CPU 0 serves what comes from outside and the devices' deadlines; another one that makes
 * such a deadline earlier, or requests an interrupt by the 8259 pair, which only CPU 0 takes, wakes it. */
#ifndef VMM_MACHINE_H
#define VMM_MACHINE_H

#include <stdint.h>

#include "cpu/cpu.h"
#include "devices/fw_cfg.h"
#include "devices/ioapic.h"
#include "devices/pic.h"
#include "devices/pit.h"
#include "devices/rtc.h"
#include "devices/uart.h"
#include "virtio/bus.h"

/* How the guest's run ends. */
enum end_kind { END_NONE, END_POWER_OFF, END_RESET, END_FAULTY };

struct machine {
    /* Constant while the guest runs. */
    uint32_t cpus;
    uint32_t features;     /* FEATURE_* of cpu/features.h */
    uint64_t woken;        /* bits that only say that another CPU has woken this one */
    uint32_t has_firmware; /* 1: what resets a PC resets it */
    uint64_t tsc_offset;   /* of the guest's time-stamp counters, until it sets one */
    struct cpu cpu[MAX_CPUS];

    /* By atomic operations. */
    uint32_t lock_taken;
    uint32_t lock_waiting; /* bit c: the thread of CPU c waits for the lock */
    uint64_t watched;      /* the deadline that CPU 0's thread will serve */
    uint32_t ending;       /* 1: a CPU has ended the run */
    enum end_kind end;
    uint32_t end_cpu;
    const char *why; /* END_FAULTY: what the guest did */

    /* Guarded by the lock. */
    struct pic pic;
    struct ioapic ioapic;
    struct pit pit;
    struct rtc rtc;
    struct uart uart;
    struct bus bus;
    struct fw_cfg fw_cfg; /* what a firmware is told */
    uint32_t pm1_status, pm1_enable, pm1_control;
    enum end_kind request; /* what the guest asked for by a port */
};

extern struct machine machine;

/* The lock, for the thread of `cpu`. Who waits for it sleeps, so that a thread that holds it, and is out of its time, is not waited
 * for by a processor. Unlocking lets the guest's PCI device interrupt again if the guest has served it, ends the run if the guest has
 * asked for that, and wakes CPU 0's thread if that has something to do. */
void machine_lock(struct cpu *cpu);
void machine_unlock(struct cpu *cpu);

/* Ends the run, unless it is ending already, and tells all virtual CPUs. */
void machine_end(struct cpu *cpu, enum end_kind kind, const char *why);
static inline uint32_t machine_is_ending(void)
{
    return __atomic_load_n(&machine.ending, __ATOMIC_SEQ_CST);
}

/* The earliest time at which a device wants something. Requires the lock. */
uint64_t machine_deadline(void);

/* The level of an interrupt line, at both controllers, and a short pulse of the interval timer's. Requires the lock. */
void machine_set_line(uint32_t line, uint32_t level);
void machine_tick(void);

#endif
