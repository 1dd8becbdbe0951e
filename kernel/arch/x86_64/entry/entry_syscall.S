/* void arch_syscall_entry(void)       from user mode by `syscall`: rcx = user rip, r11 = user rflags
 *
 * Saves the context, calls trap_syscall(rdi, rsi) and returns by sysret with the context as it is then. A thread that enters here
 * returns here; all others return by arch_user_return. What the thread's at_exit names is done
 * before. SFMASK turns interrupts off. A user rip is always below 2^47, because nothing can be mapped above USER_END and
 * arch_uctx_set truncates it, so sysret cannot fault. */
#include "layout.h"

    .macro restore
    mov U_RAX(%rsp), %rax
    mov U_RBX(%rsp), %rbx
    mov U_RDX(%rsp), %rdx
    mov U_RSI(%rsp), %rsi
    mov U_RDI(%rsp), %rdi
    mov U_RBP(%rsp), %rbp
    mov U_R8(%rsp), %r8
    mov U_R9(%rsp), %r9
    mov U_R10(%rsp), %r10
    mov U_R12(%rsp), %r12
    mov U_R13(%rsp), %r13
    mov U_R14(%rsp), %r14
    mov U_R15(%rsp), %r15
    mov U_RIP(%rsp), %rcx
    mov U_RFLAGS(%rsp), %r11
    mov U_RSP(%rsp), %rsp
    .endm

    .text
    .globl arch_syscall_entry
    .balign 64
arch_syscall_entry:
    swapgs                              # GS base = this CPU's record
    mov %rsp, %gs:PERCPU_SCRATCH        # free rsp ...
    mov %gs:PERCPU_THREAD, %rsp         # ... for the thread's record
    mov %rcx, U_RIP(%rsp)
    mov %r11, U_RFLAGS(%rsp)
    mov %gs:PERCPU_SCRATCH, %rcx
    mov %rcx, U_RSP(%rsp)
    mov %rax, U_RAX(%rsp)               # rcx and r11 are lost by contract, the rest is kept
    mov %rbx, U_RBX(%rsp)
    mov %rdx, U_RDX(%rsp)
    mov %rsi, U_RSI(%rsp)
    mov %rdi, U_RDI(%rsp)
    mov %rbp, U_RBP(%rsp)
    mov %r8, U_R8(%rsp)
    mov %r9, U_R9(%rsp)
    mov %r10, U_R10(%rsp)
    mov %r12, U_R12(%rsp)
    mov %r13, U_R13(%rsp)
    mov %r14, U_R14(%rsp)
    mov %r15, U_R15(%rsp)
    mov THREAD_STACK_TOP(%rsp), %rsp    # the thread's kernel stack, empty
    call trap_syscall                   # rdi and rsi are still the user's
    mov %gs:PERCPU_THREAD, %rsp
    cmpl $0, THREAD_AT_EXIT(%rsp)       # below 0: EXIT_ENDS
    jne 2f
1:  restore
    swapgs
    sysretq
2:  mov THREAD_STACK_TOP(%rsp), %rsp
    js 3f
    call mitigations_leave
    mov %gs:PERCPU_THREAD, %rsp
    test %eax, %eax
    jz 1b
    swapgs
    xor %eax, %eax
    mov %eax, %gs                       # may clear the base: the user's, which is 0
    restore
    sysretq
3:  call trap_end                       # does not return
    ud2
