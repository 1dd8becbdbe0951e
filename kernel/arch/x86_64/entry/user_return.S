/* void arch_user_return(void)         to user mode with all of the current thread's context; does not return
 *
 * What the thread's at_exit names is done before. For threads that entered by an interrupt or exception, and for new ones.
 * UCTX_RIP is below 2^47 (arch_uctx_set), selectors and flags are valid, so iretq cannot fault. */
#include "layout.h"

    .macro restore
    pop %rax                            # the order of the record
    pop %rbx
    pop %rcx
    pop %rdx
    pop %rsi
    pop %rdi
    pop %rbp
    pop %r8
    pop %r9
    pop %r10
    pop %r11
    pop %r12
    pop %r13
    pop %r14
    pop %r15
    add $16, %rsp                       # vector and error code; then the frame as iretq reads it
    .endm

    .text
    .globl arch_user_return
    .balign 64
arch_user_return:
    mov %gs:PERCPU_THREAD, %rsp
    cmpl $0, THREAD_AT_EXIT(%rsp)       # below 0: EXIT_ENDS
    jne 2f
1:  restore
    swapgs
    iretq
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
    iretq
3:  call trap_end                       # does not return
    ud2
