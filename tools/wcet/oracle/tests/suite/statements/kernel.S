/* A kernel of a few instructions, which does what statements about kernels are about. */
    .text
    .globl system_call
system_call:
    swapgs
    mov %gs:8, %rsp
    mov 16(%rsp), %rsp
    call handler
    swapgs
    sysretq

    .globl handler
handler:
    push %rbx
    mov %gs:0, %eax
    mov %eax, %gs:36
    mov $3, %ecx
1:  dec %ecx
    jnz 1b
    mov value(%rip), %rax
    /* A frame, by the direct map. */
    mov %rax, (%rsi)
    mov (%rsi), %rax
    call device_read
    call await
    call pending
    call switch
    call switch
    pop %rbx
    ret

    .globl device_read
device_read:
    mov (%rdi), %eax
    ret

    .globl await
await:
    mov value(%rip), %eax
    test %eax, %eax
    jnz await
    ret

    .globl pending
pending:
    mov value(%rip), %eax
    ret

    .globl window
window:
    sti
    nop
    cli
    ret

    .globl run
run:
    call switch
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
    call window
    swapgs
    sysretq

    .globl idle
idle:
    sti
    hlt
    cli
    call run
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
    mov 16(%rsp), %rsp
    call handler
    swapgs
    iretq

    .bss
    .globl value, saved, stacks, processors, threads
value: .skip 8
saved: .skip 16
    .balign 256
    .type processors, @object
    .size processors, 256
processors: .skip 256
    .type threads, @object
    .size threads, 512
threads: .skip 512
    .balign 4096
    .type stacks, @object
    .size stacks, 8192
stacks: .skip 8192
