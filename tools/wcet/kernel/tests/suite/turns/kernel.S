/* A kernel that serves interrupts, decides who runs, and switches. Macros exchange the order of things. */
    .text
    .globl system_call
system_call:
    swapgs
    mov %rsp, %gs:16
    mov %gs:8, %rsp
    call handler
    mov %gs:16, %rsp
    swapgs
    sysretq

    .globl handler
handler:
    call pending
    test %eax, %eax
    jne 1f
    call window
1:
#ifdef ASKED_AGAIN
    call pending
#endif
    call leave
#ifdef SECOND_LOOK
    call leave
#endif
#ifdef WINDOWS
2:  call window
    cmpl $0, tired(%rip)
    je 2b
#endif
    ret

    .globl entered
entered:
    call serve
#ifdef WINDOW_FIRST
    call window
#endif
#ifdef WINDOW_TWICE
    call window
#endif
    call leave
    ret

    .globl pending
pending:
    mov tired(%rip), %eax
    ret

    .globl window
window:
    sti
    nop
    cli
#ifdef WINDOW_FIRST
    cmpl $0, tired(%rip)    /* none came */
    je 1f
#endif
#ifndef UNSERVED
    call serve
#endif
1:  ret

    .globl serve
serve:
    movl $1, %gs:40
    ret

    .globl leave
leave:
    cmpl $1, %gs:40
    jne 1f
    call run
1:  ret

    .globl run
run:
    movl $0, %gs:40
    call switch
#ifndef UNSAID
    movl $0, %gs:40
#endif
    ret

    .globl switch
switch:
    push %rbp
    mov %rsp, saved(%rip)
    mov saved+8(%rip), %rsp
    pop %rbp
    ret

    .globl thread_start
thread_start:
    swapgs
    sysretq

    .globl idle
idle:
    sti
    hlt
    cli
    call serve
    call leave
    jmp idle

    .globl ended
ended:
    ret

    .globl off
off:
    ret

    .balign 16
    .globl vectors
vectors:
    push $0
    jmp common
    .balign 16
    push $1
    jmp common
    .balign 16
common:
    testb $3, 16(%rsp)
    je 1f
    swapgs
1:  mov %gs:8, %rsp
    call entered
    swapgs
    iretq

    .bss
    .globl tired, saved, stacks, percpu, threads
tired: .skip 8
saved: .skip 16
    .balign 4096
    .type stacks, @object
    .size stacks, 8192
stacks: .skip 8192
    .type percpu, @object
    .size percpu, 1024
percpu: .skip 1024
    .type threads, @object
    .size threads, 1024
threads: .skip 1024
