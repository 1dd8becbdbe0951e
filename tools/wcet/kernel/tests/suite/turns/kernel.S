/* A kernel that serves interrupts, decides who runs, and switches. Macros exchange the order of things. */
    .include "parts.S"
    .text
    part_system_call

    .globl handler
handler:
    call pending
    test %eax, %eax
    jne 1f
#ifdef WORK
    mov $500, %ecx          /* only if none waits */
3:  imul %rcx, %rdx
    dec %ecx
    jne 3b
#endif
#ifdef GUEST
    vmrun %rax              /* an interrupt that comes from here on ends the guest's run at once, */
    mov $5000, %ecx         /* and waits for this */
4:  imul %rcx, %rdx
    dec %ecx
    jne 4b
#endif
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
#ifdef HAND_OVER
    mov $500, %ecx          /* so that the interrupt that comes here is the one with the longest response */
3:  imul %rcx, %rdx
    dec %ecx
    jne 3b
#endif
    call serve
#ifdef WINDOW_FIRST
    call window
#endif
#ifdef WINDOW_TWICE
    call window
#endif
#ifdef HAND_OVER
    call woken
    cmp $-1, %eax
    je 1f
    call run
    ret
1:  call window
#endif
    call leave
    ret

#ifdef HAND_OVER
    .globl woken
woken:
    mov tired(%rip), %eax
    ret
#endif

    .globl pending
pending:
    mov tired(%rip), %eax
    ret

    .globl window
window:
    sti
    nop
    cli
#if defined WINDOW_FIRST || defined HAND_OVER
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

    part_leave

    .globl run
run:
    movl $0, %gs:40
    call switch
#ifndef UNSAID
    movl $0, %gs:40
#endif
    ret

    part_switch

    part_thread_start

    .globl idle
idle:
    sti
    hlt
    cli
    call serve
    call leave
    jmp idle

    part_ends

    part_vectors 2
    mov %gs:8, %rsp
    part_handled_by entered

    .bss
    .globl tired, saved
tired: .skip 8
saved: .skip 16
    .balign 4096
    part_memory stacks, 8192
    part_memory percpu, 1024
    part_memory threads, 1024
