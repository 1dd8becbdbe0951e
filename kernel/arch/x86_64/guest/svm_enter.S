/* void svm_enter(uint64_t guest_vmcb, uint64_t *gpr, uint64_t host_vmcb);
 *
 * Runs a guest once. guest_vmcb and host_vmcb are physical addresses; gpr holds the guest's rax rcx rdx rbx rsp rbp rsi
 * rdi r8..r15, of which rax and rsp are in the control block and unchanged here. Requires: interrupts off, the vector
 * unit holds the guest's state. Returns after the first exit with interrupts off; a pending one is still pending.
 *
 * Between clgi and stgi nothing interrupts. Inside the guest the global flag is set and, with virtual interrupt masking,
 * the host's IF = 1 lets a physical interrupt end the run whatever the guest's IF is. */
    .text
    .globl svm_enter
    .type svm_enter, @function
svm_enter:
    push %rbx
    push %rbp
    push %r12
    push %r13
    push %r14
    push %r15
    push %rdx                       /* for the way back: host_vmcb, */
    push %rsi                       /* gpr */
    cmpl $0, mitigations_verw(%rip)
    jne 2f
1:  clgi
    sti
    mov %rdi, %rax
    mov %rsi, %rdi
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
    vmload %rax                     /* fs gs tr ldtr and the system-call registers, which vmrun leaves out */
    vmrun %rax
    vmsave %rax
    push %rdi                       /* rsp is the host's again, the other registers are the guest's */
    mov 8(%rsp), %rdi
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
    add $8, %rsp
    pop %rax
    vmload %rax                     /* the host's */
    cli
    stgi
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbp
    pop %rbx
    ret
2:  verw mitigations_selector(%rip)
    jmp 1b
    .size svm_enter, . - svm_enter
    .section .note.GNU-stack, "", @progbits
