/* void arch_ignore_entry(void)        vectors above 63: a late interrupt of the masked 8259, or a spurious one; ignored */
    .text
    .globl arch_ignore_entry
arch_ignore_entry:
    iretq
