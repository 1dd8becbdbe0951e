/* Offsets and addresses that C and assembly share. C asserts each offset against its structure. */
#ifndef ASHLAR_X86_64_LAYOUT_H
#define ASHLAR_X86_64_LAYOUT_H

/* ---- address space ---- */
#define KERNEL_BASE 0xffffffff80000000 /* the image is mapped at KERNEL_BASE + its physical address */
#define KERNEL_PHYSICAL 0x200000       /* of the image; text and constants end before KERNEL_DATA_PHYSICAL */
#define KERNEL_DATA_PHYSICAL 0x400000
#define DIRECT_MAP 0xffff800000000000    /* physical memory, never executable */
#define KERNEL_STACKS 0xffffffffc0000000 /* page pairs: unmapped guard, stack page */

/* ---- selectors; sysret requires user data, then user code, 16 above the base in STAR ---- */
#define SELECTOR_KERNEL_CODE 0x08
#define SELECTOR_KERNEL_DATA 0x10
#define SELECTOR_SYSRET_BASE 0x1b
#define SELECTOR_USER_DATA 0x23
#define SELECTOR_USER_CODE 0x2b
#define SELECTOR_TSS 0x30

/* ---- struct arch_thread: the user context (UCTX_* words), then what the switch needs ---- */
#define THREAD_SHIFT 8       /* its size is 256 */
#define THREAD_FRAME_END 176 /* TSS.rsp0: the processor saves rip..ss directly into the user context */
#define THREAD_KERNEL_RSP 192
#define THREAD_STACK_TOP 200
#define THREAD_AT_EXIT 212
#define EXIT_ENDS 0x80000000 /* of at_exit: the thread calls trap_end, which does not return; the sign, for the exits */

#define U_RAX 0
#define U_RBX 8
#define U_RCX 16
#define U_RDX 24
#define U_RSI 32
#define U_RDI 40
#define U_RBP 48
#define U_R8 56
#define U_R9 64
#define U_R10 72
#define U_R11 80
#define U_R12 88
#define U_R13 96
#define U_R14 104
#define U_R15 112
#define U_VECTOR 120
#define U_ERROR_CODE 128
#define U_RIP 136
#define U_CS 144
#define U_RFLAGS 152
#define U_RSP 160
#define U_SS 168
#define U_FAULT_ADDRESS 176

/* ---- struct percpu, at GS base while in the kernel ---- */
#define PERCPU_CPU 0
#define PERCPU_THREAD 8 /* address of the current thread's struct arch_thread */
#define PERCPU_SCRATCH 16
#define PERCPU_VECTOR 24       /* vector taken in an interrupt window */
#define PERCPU_FPU_LEFT 28     /* 0: CR0.TS is clear, the vector unit holds the current thread's state; else 1 */
#define PERCPU_FPU_OWNER 32    /* thread or guest whose state the vector unit holds, or NONE */
#define PERCPU_CURRENT 36      /* number of the current thread */
#define PERCPU_NEED_RESCHED 40 /* 1: a reschedule is pending */
#define PERCPU_ROOT 44         /* root of the loaded page map */
#define PERCPU_FLOOR 48        /* see arch_floor */
#define PERCPU_SPACE 52        /* root of the page map at the last return to user mode, or NONE */
#define PERCPU_TSS 60
#define PERCPU_TSS_RSP0 64

/* ---- processor bits ---- */
#define RFLAGS_IF 0x200
#define CR0_TS 0x8

#endif
