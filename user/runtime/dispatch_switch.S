/* void dispatch_switch(uint64_t *from, uint64_t to): saves the caller's registers on its stack and the stack pointer
 * in *from, takes the stack `to` and the registers saved there. */
        .text
        .globl  dispatch_switch
dispatch_switch:
        push    %rbp
        push    %rbx
        push    %r12
        push    %r13
        push    %r14
        push    %r15
        mov     %rsp, (%rdi)
        mov     %rsi, %rsp
        pop     %r15
        pop     %r14
        pop     %r13
        pop     %r12
        pop     %rbx
        pop     %rbp
        ret                             /* to where the other thread called, or to dispatch_entry */
        .section .note.GNU-stack, "", @progbits
