/* void arch_nmi_entry(void)           non-maskable interrupt, on its own stack: vector, error code, frame
 *
 * Counted and otherwise ignored, at any point of kernel or user code. After a fatal error on another CPU, which sends it,
 * this CPU halts for good. */
    .text
    .globl arch_nmi_entry
arch_nmi_entry:
    lock incq nmi_count(%rip)
    cmpl $0, machine_stopped(%rip)
    jne 1f
    add $16, %rsp
    iretq
1:  cli
    hlt
    jmp 1b
