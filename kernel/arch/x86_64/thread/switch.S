/* void arch_switch(uint32_t to)
 *
 * Continues where `to` called this (or at arch_thread_start). Only the stack pointer is saved: the kernel is compiled with every
 * register call-used, and rbp unused (Makefile), because its hot paths end in a switch and need few values after it.
 * Where a path's last step is a switch, the compiler jumps here: the thread resumes behind the entry's call, at the exit.
 * Requires: interrupts off, to runs nowhere and belongs to this CPU, the current thread has left the vector unit. */
#include "layout.h"

    .text
    .globl arch_switch
    .balign 64
arch_switch:
    mov %gs:PERCPU_THREAD, %rcx
    mov %edi, %gs:PERCPU_CURRENT
    shl $THREAD_SHIFT, %edi             # thread number, of whose register the upper half is anything -> offset of its record
    mov %rsp, THREAD_KERNEL_RSP(%rcx)
    lea arch_threads(%rdi), %rax
    mov %rax, %gs:PERCPU_THREAD
    lea THREAD_FRAME_END(%rax), %rcx
    mov %rcx, %gs:PERCPU_TSS_RSP0       # exceptions and interrupts save into its record
    mov THREAD_KERNEL_RSP(%rax), %rsp
#if DEBUG
    cmpl $1, %gs:PERCPU_FPU_LEFT        # else `to` could read the vector registers
    je 1f
    ud2
1:
#endif
    ret
