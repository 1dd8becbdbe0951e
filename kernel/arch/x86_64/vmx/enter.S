/* uint32_t vmx_enter(uint64_t *gpr, uint32_t launched);
 *
 * Enters the guest of this CPU's control structure once. gpr holds the guest's rax rcx rdx rbx rsp rbp rsi rdi r8..r15, of
 * which rsp is in the structure and unchanged here. launched: 1 if the structure has been launched before. Requires:
 * interrupts off, the vector unit and CR2 hold the guest's state. Returns 0 after the first exit, with interrupts off; 1 if
 * the processor refused the instruction.
 *
 * An exit comes to the address in vmx_exit_point with the flags cleared, a refusal with one of two flags set: so both go the same way. */
    .text
    .globl vmx_enter
    .type vmx_enter, @function
vmx_enter:
    push %rbx
    push %rbp
    push %r12
    push %r13
    push %r14
    push %r15
    push %rdi                       /* for the way back: gpr */
    mov $0x6c14, %eax               /* the host's stack pointer */
    vmwrite %rsp, %rax
    cmpl $0, mitigations_verw(%rip)
    jne 4f
1:  test %esi, %esi                 /* moves keep the flag */
    mov 8*0(%rdi), %rax
    mov 8*1(%rdi), %rcx
    mov 8*2(%rdi), %rdx
    mov 8*3(%rdi), %rbx
    mov 8*5(%rdi), %rbp
    mov 8*6(%rdi), %rsi
    mov 8*8(%rdi), %r8
    mov 8*9(%rdi), %r9
    mov 8*10(%rdi), %r10
    mov 8*11(%rdi), %r11
    mov 8*12(%rdi), %r12
    mov 8*13(%rdi), %r13
    mov 8*14(%rdi), %r14
    mov 8*15(%rdi), %r15
    mov 8*7(%rdi), %rdi
    jne 2f
    vmlaunch
    jmp 3f
2:  vmresume
3:  push %rdi                       /* rsp is the host's again, the other registers are the guest's */
    mov 8(%rsp), %rdi
    mov %rax, 8*0(%rdi)
    setbe %al                       /* before the flags change: a refusal */
    mov %rcx, 8*1(%rdi)
    mov %rdx, 8*2(%rdi)
    mov %rbx, 8*3(%rdi)
    mov %rbp, 8*5(%rdi)
    mov %rsi, 8*6(%rdi)
    mov %r8, 8*8(%rdi)
    mov %r9, 8*9(%rdi)
    mov %r10, 8*10(%rdi)
    mov %r11, 8*11(%rdi)
    mov %r12, 8*12(%rdi)
    mov %r13, 8*13(%rdi)
    mov %r14, 8*14(%rdi)
    mov %r15, 8*15(%rdi)
    pop %rcx
    mov %rcx, 8*7(%rdi)
    movzbl %al, %eax
    add $8, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbp
    pop %rbx
    ret
4:  verw mitigations_selector(%rip)
    jmp 1b
    .size vmx_enter, . - vmx_enter
    .section .rodata
    .globl vmx_exit_point
    .balign 8
vmx_exit_point:
    .quad 3b
    .section .note.GNU-stack, "", @progbits
