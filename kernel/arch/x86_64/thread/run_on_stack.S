/* void arch_run_on_stack(uint64_t top, void (*function)(void))   calls function on another stack; does not return */
    .text
    .globl arch_run_on_stack
arch_run_on_stack:
    mov %rdi, %rsp
    xor %ebp, %ebp
    call *%rsi
1:  hlt
    jmp 1b
