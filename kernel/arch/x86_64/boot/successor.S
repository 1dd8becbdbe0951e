/* void smp_leave_first(void)          see smp.h
 * void smp_go_on(void)                the other CPU returns from the boot processor's call of smp_leave_first. Requires: the boot
 *                                     processor has stopped, and this CPU is the kernel's first. */
    .text
    .globl smp_leave_first, smp_go_on
smp_leave_first:
    push %rbx
    push %rbp
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, boot_processor_stack(%rip)
    sub $8, %rsp                        # calls want a multiple of 16
    call smp_start_successor
    add $8, %rsp
1:  pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbp
    pop %rbx
    ret
smp_go_on:
    mov boot_processor_stack(%rip), %rsp
    jmp 1b

    .bss
    .balign 8
boot_processor_stack:
    .skip 8
    .section .note.GNU-stack, "", @progbits
