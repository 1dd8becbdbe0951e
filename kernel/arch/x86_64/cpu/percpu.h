/* Per-CPU data: index, current thread, TSS and GDT; and the per-thread records of arch. */
#ifndef ASHLAR_X86_64_PERCPU_H
#define ASHLAR_X86_64_PERCPU_H

#include <stddef.h>
#include <stdint.h>

#include "arch.h"
#include "layout.h"

/* A thread's registers and kernel stack. Written by its own CPU or, while the thread is blocked, under the lock of
 * the object it waits on. */
struct arch_thread {
    uint64_t word[UCTX_WORDS];
    uint64_t kernel_rsp; /* while it does not run */
    uint64_t stack_top;  /* constant */
    uint32_t fpu_fresh;  /* 1: its vector state is the initial one; memory and registers are stale */
    uint32_t at_exit;    /* what is to be done on the way to user mode: mitigations_at_exit, EXIT_ENDS */
    uint32_t spare[10];
};

struct tss {
    uint32_t reserved0;
    uint64_t rsp[3];
    uint64_t reserved1;
    uint64_t ist[7];
    uint64_t reserved2;
    uint16_t reserved3;
    uint16_t io_map; /* beyond the limit: no port is open to user mode */
} __attribute__((packed));

struct percpu {
    uint32_t cpu;
    uint32_t apic_id;
    struct arch_thread *thread;
    uint64_t scratch;
    uint32_t vector;
    uint32_t fpu_left;
    uint32_t fpu_owner;    /* thread whose state the vector unit holds, or NONE */
    uint32_t current;      /* thread */
    uint32_t need_resched; /* 1: a reschedule is pending */
    uint32_t root;         /* of the loaded page map, or NONE: the kernel's own */
    uint32_t floor;        /* see arch_floor */
    uint32_t space;        /* root of the page map at the last return to user mode, or NONE */
    uint32_t spare;
    struct tss tss;
    uint32_t pad;
    uint64_t gdt[8];
} __attribute__((packed, aligned(512)));

_Static_assert(sizeof(struct arch_thread) == 1 << THREAD_SHIFT, "size of arch_thread");
_Static_assert(offsetof(struct arch_thread, kernel_rsp) == THREAD_KERNEL_RSP, "kernel_rsp");
_Static_assert(offsetof(struct arch_thread, stack_top) == THREAD_STACK_TOP, "stack_top");
_Static_assert(offsetof(struct arch_thread, at_exit) == THREAD_AT_EXIT, "at_exit");
_Static_assert(UCTX_R15 * 8 == U_R15 && UCTX_RIP * 8 == U_RIP && UCTX_SS * 8 + 8 == THREAD_FRAME_END, "context");
_Static_assert(UCTX_RDI * 8 == U_RDI && UCTX_R8 * 8 == U_R8 && UCTX_VECTOR * 8 == U_VECTOR, "context");
_Static_assert(UCTX_FAULT_ADDRESS * 8 == U_FAULT_ADDRESS, "context");
_Static_assert(offsetof(struct percpu, thread) == PERCPU_THREAD, "percpu.thread");
_Static_assert(offsetof(struct percpu, scratch) == PERCPU_SCRATCH, "percpu.scratch");
_Static_assert(offsetof(struct percpu, vector) == PERCPU_VECTOR, "percpu.vector");
_Static_assert(offsetof(struct percpu, fpu_left) == PERCPU_FPU_LEFT, "percpu.fpu_left");
_Static_assert(offsetof(struct percpu, fpu_owner) == PERCPU_FPU_OWNER, "percpu.fpu_owner");
_Static_assert(offsetof(struct percpu, current) == PERCPU_CURRENT, "percpu.current");
_Static_assert(offsetof(struct percpu, need_resched) == PERCPU_NEED_RESCHED, "percpu.need_resched");
_Static_assert(offsetof(struct percpu, root) == PERCPU_ROOT, "percpu.root");
_Static_assert(offsetof(struct percpu, floor) == PERCPU_FLOOR, "percpu.floor");
_Static_assert(offsetof(struct percpu, space) == PERCPU_SPACE, "percpu.space");
_Static_assert(offsetof(struct percpu, tss) == PERCPU_TSS, "percpu.tss");
_Static_assert(PERCPU_TSS + offsetof(struct tss, rsp) == PERCPU_TSS_RSP0, "tss.rsp0");

extern struct arch_thread arch_threads[NUM_THREAD];
extern struct percpu percpu[NUM_CPU];
extern uint32_t cpus_started; /* written by the first CPU during start-up, constant afterwards */

/* The order of stacks: one per thread, then three per CPU (double fault, NMI, machine check). */
#define NUM_STACK (NUM_THREAD + 3u * NUM_CPU)
#define STACK_TOP(i) (KERNEL_STACKS + 4096u * (2u * (uint64_t)(i) + 2u))
#define STACK_GUARD(i) (KERNEL_STACKS + 4096u * (2u * (uint64_t)(i)))

/* Fills the record of `cpu`, which is this CPU, and loads its GDT, TSS, GS and IDT; the current thread becomes the
 * CPU's idle thread. Requires: the kernel's own page map is loaded. */
void percpu_init(uint32_t cpu, uint32_t apic_id);

/* Sets control registers and system-call MSRs of this CPU. Requires: cpu_missing_feature() returned 0 on it. */
void cpu_init(void);

/* Name of the first feature this CPU lacks, or 0 if it has all that the kernel needs. */
const char *cpu_missing_feature(void);

/* Builds the interrupt table (once), loads it (every CPU). */
void idt_build(void);
void idt_load(void);
uint64_t idt_base(void);

/* Loads the register of the global descriptor table of `cpu`, which is this CPU; no selector is loaded anew. */
void gdt_load(uint32_t cpu);

/* Empty contexts and stack addresses of all threads. */
void thread_records_init(void);

/* Enables vector state as far as XSAVE supports it. Every CPU. */
void fpu_init_cpu(void);

#endif
