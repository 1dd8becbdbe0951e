/* void trampoline_start(void)         the first code of another CPU: real mode, at the start of a page below 1 MiB
 *
 * smp.c copies it there and fills the words at trampoline_data: root table, stack, entry. The code finds its address in cs.
 * Switches to 64-bit mode with the first page map, then calls entry on the stack. */
#include "layout.h"

#define AT(symbol) ((symbol) - trampoline_start)

    .section .rodata
    .globl trampoline_start, trampoline_data, trampoline_end
    .balign 16
    .code16
trampoline_start:
    cli
    cld
    mov %cs, %ax
    mov %ax, %ds
    movzwl %ax, %ebx
    shl $4, %ebx                        # ebx = physical address of this page
    lea AT(low64)(%ebx), %eax           # the tables need physical addresses
    mov %eax, AT(far_pointer)
    lea AT(gdt)(%ebx), %eax
    mov %eax, AT(gdt_pointer) + 2
    mov $0x20, %eax                     # physical address extension
    mov %eax, %cr4
    mov AT(trampoline_data), %eax
    mov %eax, %cr3
    mov $0xc0000080, %ecx               # EFER: long mode, no-execute
    rdmsr
    or $0x900, %eax
    wrmsr
    lgdtl AT(gdt_pointer)
    mov %cr0, %eax
    or $0x80000001, %eax                # paging, protected mode
    and $~0x60000000, %eax              # caches on
    mov %eax, %cr0
    ljmpl *AT(far_pointer)

    .code64
low64:
    xor %eax, %eax
    mov %eax, %ss
    mov %eax, %ds
    mov %eax, %es
    mov AT(trampoline_data) + 8(%rbx), %rsp
    mov AT(trampoline_data) + 16(%rbx), %rax
    xor %ebp, %ebp
    call *%rax
1:  hlt
    jmp 1b

    .balign 8
far_pointer:
    .long 0
    .short SELECTOR_KERNEL_CODE
    .balign 8
gdt:
    .quad 0
    .quad 0x00af9b000000ffff
    .quad 0x00cf93000000ffff
gdt_pointer:
    .short 23
    .long 0
    .balign 8
trampoline_data:
    .quad 0, 0, 0
trampoline_end:
