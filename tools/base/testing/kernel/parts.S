/* What the small kernels of the timing analysis's tests have in common. Each includes this and writes the parts in its order. */

    /* The entry of system calls: the stack of the processor, then the kernel's `handler`. */
    .macro part_system_call
    .globl system_call
system_call:
    swapgs
    mov %rsp, %gs:16
    mov %gs:8, %rsp
    call handler
    mov %gs:16, %rsp
    swapgs
    sysretq
    .endm

    /* Interrupts are taken here, and only here. */
    .macro part_window
    .globl window
window:
    sti
    nop
    cli
    ret
    .endm

    .macro part_switch
    .globl switch
switch:
    push %rbp
    mov %rsp, saved(%rip)
    mov saved+8(%rip), %rsp
    pop %rbp
    ret
    .endm

    /* Runs another thread if one is asked for. */
    .macro part_leave
    .globl leave
leave:
    cmpl $1, %gs:40
    jne 1f
    call run
1:  ret
    .endm

    .macro part_thread_start
    .globl thread_start
thread_start:
    swapgs
    sysretq
    .endm

    .macro part_ends
    .globl ended
ended:
    ret

    .globl off
off:
    ret
    .endm

    /* So many vectors, and what they have in common up to the stack. */
    .macro part_vectors number
    .balign 16
    .globl vectors
vectors:
    .set vector, 0
    .rept \number
    .balign 16
    push $vector
    jmp common
    .set vector, vector + 1
    .endr
    .balign 16
common:
    testb $3, 16(%rsp)
    je 1f
    swapgs
1:
    .endm

    /* The end of the entry: the function that handles it, and back. */
    .macro part_handled_by function
    call \function
    swapgs
    iretq
    .endm

    .macro part_memory name, bytes
    .globl \name
    .type \name, @object
    .size \name, \bytes
\name: .skip \bytes
    .endm
