/* A kernel of a few instructions, which does what statements about kernels are about. */
    .include "parts.S"
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

    part_window

    .globl run
run:
    call switch
    ret

    part_switch

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

    part_ends

    part_vectors 2
    mov %gs:8, %rsp
    mov 16(%rsp), %rsp
    part_handled_by handler

    .bss
    .globl value, saved
value: .skip 8
saved: .skip 16
    .balign 256
    part_memory processors, 256
    part_memory threads, 512
    .balign 4096
    part_memory stacks, 8192
