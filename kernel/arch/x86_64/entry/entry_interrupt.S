/* void arch_vector_stubs(void)        64 entries, 16 bytes each: vector i enters at arch_vector_stubs + 16 * i
 *
 * From user mode: the processor has saved rip..ss into the current thread's record (TSS.rsp0 points there); the stub pushes
 * the other registers below. From kernel mode: only an interrupt window (arch_interrupt_poll, arch_idle) can be interrupted;
 * the vector is recorded and the window closed. An exception there is fatal. */
#include "layout.h"

    .text
    .globl arch_vector_stubs
    .balign 64
arch_vector_stubs:
    .set vector, 0
    .rept 64
    .balign 16
    .if vector != 8 && vector != 10 && vector != 11 && vector != 12 && vector != 13 && vector != 14 && \
        vector != 17 && vector != 21 && vector != 29 && vector != 30
    push $0                             # the processor pushes no error code
    .endif
    push $vector
    .if vector == 2
    jmp arch_nmi_entry
    .elseif vector == 8 || vector == 18
    jmp arch_fatal_entry                # own stacks, never survived
    .else
    jmp interrupt_common
    .endif
    .set vector, vector + 1
    .endr

    .balign 64
interrupt_common:                       # rsp: vector, error code, rip, cs, rflags, rsp, ss
    testb $3, 24(%rsp)
    jz from_kernel
    swapgs
    push %r15                           # the rest of the record, downwards to UCTX_RAX
    push %r14
    push %r13
    push %r12
    push %r11
    push %r10
    push %r9
    push %r8
    push %rbp
    push %rdi
    push %rsi
    push %rdx
    push %rcx
    push %rbx
    push %rax
    mov U_VECTOR(%rsp), %edi
    cmp $14, %edi
    jne 1f
    mov %cr2, %rax                      # page fault: its address
    mov %rax, U_FAULT_ADDRESS(%rsp)
1:  mov THREAD_STACK_TOP(%rsp), %rsp
    push $2                             # the gate leaves DF and AC as the user had them
    popfq
    cmp $32, %edi
    jb 2f
    call trap_interrupt
    jmp arch_user_return
2:  call trap_exception
    jmp arch_user_return

from_kernel:
    cmpl $32, (%rsp)
    jb arch_fatal_entry
    push %rax
    mov 8(%rsp), %eax
    mov %eax, %gs:PERCPU_VECTOR
    pop %rax
    add $16, %rsp                       # vector and error code
    andl $~RFLAGS_IF, 16(%rsp)          # one interrupt a window
    iretq
