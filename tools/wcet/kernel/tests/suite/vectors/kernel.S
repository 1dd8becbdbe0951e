/* A kernel whose interrupts differ in their service, and whose system calls differ in their way home. */
    .include "parts.S"
    .text
    part_system_call

    /* 0 asks whether an interrupt waits, 1 waits, 2 waits and has much to do then, all others still more; who wakes others opens a window. */
    .globl handler
handler:
    mov %gs:36, %eax
    shl $8, %rax
    mov threads(%rax), %rdi
    test %rdi, %rdi
    je 5f
    cmp $1, %rdi
    je 2f
    cmp $2, %rdi
    je 3f
    call run
    mov $200, %ecx
1:  dec %ecx
    jnz 1b
    jmp 4f
2:  call run
    jmp 4f
3:  call run
    mov $100, %ecx
1:  dec %ecx
    jnz 1b
4:  call leave
    ret
5:  call pending
    call window
    jmp 4b

    .globl entered
entered:
#ifdef WRONG_VECTOR
    mov $9, %edi
#endif
    call serve
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
    mov taken(%rip), %edi
#ifdef LONG_STEP
    cmp $-1, %edi
    je 2f
#endif
    call serve
    call leave
    ret
#ifdef LONG_STEP
    /* No interrupt was taken: a long step of something else. */
2:  mov $300, %ecx
1:  dec %ecx
    jnz 1b
    ret
#endif

    /* Vector 1 takes long. */
    .globl serve
serve:
    call is_slow
    test %eax, %eax
    je 2f
    mov $50, %ecx
1:  dec %ecx
    jnz 1b
2:  movl $1, %gs:40
    ret

    .globl is_slow
is_slow:
    cmp $1, %edi
    jne 1f
    mov $1, %eax
    ret
1:  xor %eax, %eax
    ret

    part_leave

    .globl run
run:
    movl $0, %gs:40
    call switch
    movl $0, %gs:40
    ret

    part_switch

    part_thread_start

    .globl idle
idle:
    sti
    hlt
    cli
    mov taken(%rip), %edi
    call serve
    call leave
    jmp idle

    part_ends

    part_vectors 6
    mov (%rsp), %edi
    mov %gs:8, %rsp
    part_handled_by entered

    .bss
    .globl tired, taken, saved
tired: .skip 8
taken: .skip 8
saved: .skip 16
    .balign 4096
    part_memory stacks, 8192
    part_memory percpu, 1024
    part_memory threads, 1024
