/* How another CPU takes the boot processor's place in start-up (svm_tcg.c says where and why): it returns from that one's call.
 *
 * void smp_leave_first(void)          see smp.h
 * void smp_go_on(void)                the other CPU returns from the boot processor's call of smp_leave_first. Requires: the boot
 *                                     processor has stopped, and this CPU is the kernel's first.
 *
 * Only the stack pointer is saved: the kernel is compiled with every register call-used, and rbp unused (Makefile). */
    .text
    .globl smp_leave_first, smp_go_on
smp_leave_first:
    mov %rsp, boot_processor_stack(%rip)
    sub $8, %rsp                        # calls want a multiple of 16
    call smp_start_successor
    add $8, %rsp
    ret
smp_go_on:
    mov boot_processor_stack(%rip), %rsp
    ret

    .bss
    .balign 8
boot_processor_stack:
    .skip 8
    .section .note.GNU-stack, "", @progbits
