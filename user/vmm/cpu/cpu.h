/* A virtual CPU of the guest, as the monitor has it: a thread, a vcpu page, a local interrupt controller.
 *
 * What belongs to the CPU's own thread no other thread touches: its page and its local controller, so that no lock is taken for
 * them. Others leave what they want in its inbox and wake it. */
#ifndef VMM_CPU_H
#define VMM_CPU_H

#include <stdint.h>

#include "cpu/inbox.h"
#include "cpu/vcpu.h"
#include "devices/lapic.h"

#define MAX_CPUS 8u
#define CPU_EXITS (VCPU_EXIT_MACHINE_CHECK + 1)

enum cpu_state {
    CPU_RUNS,
    CPU_HALTED, /* until an interrupt */
    CPU_WAITS   /* for a start-up message */
};

struct cpu {
    /* Constant while the guest runs. */
    uint32_t number; /* the identifier of its local controller too */
    uint32_t slot;   /* of the kernel's machine that is this CPU */
    uint32_t wake;   /* notification that ends its run or wait */
    volatile uint64_t *page;

    /* Its own thread's. */
    struct lapic lapic; /* of it, others read who it is: lapic_is_named() */
    enum cpu_state state;
    uint32_t nmi;              /* 1: one waits for delivery */
    uint64_t bits;             /* of the notification, taken and not served yet */
    uint64_t exits[CPU_EXITS]; /* since the guest's start, by VCPU_EXIT_* */

    /* Any thread's, by atomic operations. */
    struct inbox inbox;
    uint32_t away;  /* 1: in the guest, or waiting; who leaves something in the inbox wakes it */
    uint32_t stuck; /* odd: only another CPU could wake it (stuck.h) */
};

/* Wakes the thread of `cpu` if it is away. To be called after something was put into its inbox. */
void cpu_wake(struct cpu *cpu);
/* Wakes it, whatever it does. */
void cpu_signal(const struct cpu *cpu);

#endif
