/* A kernel of a few instructions, with every kind of region. */
    .include "parts.S"
    .text
    part_system_call

    .globl handler
handler:
    push %rbx
    mov $10, %ecx
1:  dec %ecx
    jnz 1b
    call wait
    test %edi, %edi
    je 2f
    call wait
2:  call chase
    call pending
    test %eax, %eax
    jne 3f
    call window
3:  call decide
    push %rax
    push %rcx
    pop %rcx
    pop %rax
    pop %rbx
    ret

    /* A list whose length the binary does not tell. */
    .globl chase
chase:
    mov list(%rip), %rax
1:  mov (%rax), %rax
    test %rax, %rax
    jnz 1b
    ret

    .globl wait
wait:
    mov lock(%rip), %eax
    test %eax, %eax
    jnz wait
    ret

    .globl pending
pending:
    mov lock(%rip), %eax
    ret

    part_window

    .globl decide
decide:
    call run
    ret

    .globl run
run:
    call switch
    ret

    part_switch

    .globl thread_start
thread_start:
#if defined(UNKNOWN)
    /* The lock that is asked for: its number is not known, and where it is given back the register is another one. */
    mov %edi, %ebx
#if defined(RANGE)
    and $3, %ebx
#endif
    shl $7, %rbx
    lea tickets(%rbx), %rcx
    lea tickets+64(%rbx), %rbp
    mov $1, %eax
    lock xadd %rax, (%rcx)
    test %edi, %edi
    je 1f
    nop
1:  mov (%rbp), %rax
    inc %rax
    mov %rax, (%rbp)
#elif defined(CIRCLE)
    /* Lock 1 and in it lock 0, then lock 0 and in it lock 1. */
    mov $1, %eax
    lock xadd %rax, tickets+128(%rip)
    lock xadd %rax, tickets(%rip)
    addq $1, tickets+64(%rip)
    addq $1, tickets+192(%rip)
    lock xadd %rax, tickets(%rip)
    lock xadd %rax, tickets+128(%rip)
    addq $1, tickets+192(%rip)
    addq $1, tickets+64(%rip)
#elif defined(HIDDEN)
    mov list(%rip), %rcx
    mov $1, %eax
    lock xadd %rax, (%rcx)
#elif defined(LOCKS)
    /* Lock 1, and while it is held lock 0, each in blocks of its own. */
    mov $1, %eax
    lock xadd %rax, tickets+128(%rip)
    test %edi, %edi
    je 1f
    nop
1:  mov $1, %eax
    lock xadd %rax, tickets(%rip)
    test %esi, %esi
    je 1f
    nop
1:  addq $1, tickets+64(%rip)
    test %edx, %edx
    je 1f
    nop
1:
#if LOCKS > 1
    addq $1, tickets+192(%rip)
#elif LOCKS < 0
    je 1f
    addq $1, tickets+192(%rip)
1:
#endif
    test %ecx, %ecx
    je 1f
    nop
1:
#endif
    swapgs
    sysretq

    .globl idle
idle:
    sti
    hlt
    cli
    jmp idle

    part_ends

    .globl device_read
device_read:
    mov %edi, %edi
    mov (%rdi), %eax
    ret

    part_vectors 2
    mov %gs:8, %rsp
    part_handled_by handler

    .bss
    .balign 128
#if defined(RANGE)
    part_memory tickets, 512
#else
    part_memory tickets, 256
#endif
    .globl list, lock, saved
list: .skip 8
lock: .skip 8
saved: .skip 16
    .balign 4096
    part_memory stacks, 8192
