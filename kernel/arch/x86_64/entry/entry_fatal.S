/* void arch_fatal_entry(void)         an exception in the kernel: rsp: vector, error code, rip, cs, rflags, rsp, ss
 *
 * Passes the registers to fatal_exception(const uint64_t *), in the order of the user context. Never returns. GS may hold
 * the user's base and is not used. */
    .text
    .globl arch_fatal_entry
arch_fatal_entry:
    push %r15
    push %r14
    push %r13
    push %r12
    push %r11
    push %r10
    push %r9
    push %r8
    push %rbp
    push %rdi
    push %rsi
    push %rdx
    push %rcx
    push %rbx
    push %rax
    cld
    mov %rsp, %rdi
    and $~15, %rsp
    call fatal_exception
1:  hlt
    jmp 1b
