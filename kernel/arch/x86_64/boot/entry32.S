/* void boot_entry(void)               from a Multiboot2 loader: eax = its magic, ebx = information, 32-bit, paging off
 * void boot_entry_pvh(void)           from a PVH loader: ebx = start information
 *
 * Checks that there is a 64-bit processor, switches to it with a first page map (the first GiB, at 0 and at KERNEL_BASE)
 * and calls boot_main(loader, information). */
#include "layout.h"

#define PHYSICAL(symbol) ((symbol) - KERNEL_BASE)
#define COM1 0x3f8

    .text
    .code32
    .globl boot_entry, boot_entry_pvh
boot_entry_pvh:
    mov $2, %esi                        # loader = PVH
    jmp common
boot_entry:
    mov $1, %esi                        # loader = Multiboot2
    mov $PHYSICAL(message_loader), %edx
    cmp $0x36d76289, %eax
    jne fail
common:
    cli
    cld
    mov $PHYSICAL(message_memory), %edx
    movl $0x5aa5c33c, PHYSICAL(boot_stack_top) - 4 # the kernel's last page: is there memory?
    cmpl $0x5aa5c33c, PHYSICAL(boot_stack_top) - 4
    jne fail
    mov $PHYSICAL(boot_stack_top), %esp
    mov %ebx, %edi
    mov $PHYSICAL(message_cpu), %edx
    pushfl                              # CPUID exists where flag 21 can be changed
    pop %eax
    xor $0x200000, %eax
    mov %eax, %ecx
    push %eax
    popfl
    pushfl
    pop %eax
    xor %ecx, %eax
    test $0x200000, %eax
    jnz fail
    mov $0x80000000, %eax
    push %edx
    cpuid
    pop %edx
    cmp $0x80000001, %eax
    jb fail
    mov $0x80000001, %eax
    push %edx
    cpuid
    mov %edx, %eax
    pop %edx
    bt $29, %eax                        # long mode
    jnc fail

    mov $PHYSICAL(boot_pages), %ebx     # 512 pages of 2 MiB, present and writable
    mov $0x83, %eax
    xor %ecx, %ecx
1:  mov %eax, (%ebx,%ecx,8)
    add $0x200000, %eax
    inc %ecx
    cmp $512, %ecx
    jne 1b
    movl $PHYSICAL(boot_pages) + 3, PHYSICAL(boot_gib)              # at 0
    movl $PHYSICAL(boot_pages) + 3, PHYSICAL(boot_gib) + 510 * 8    # at KERNEL_BASE, with the root's last entry
    movl $PHYSICAL(boot_gib) + 3, PHYSICAL(boot_root)
    movl $PHYSICAL(boot_gib) + 3, PHYSICAL(boot_root) + 511 * 8

    mov %cr4, %eax
    or $0x20, %eax                      # physical address extension
    mov %eax, %cr4
    mov $PHYSICAL(boot_root), %eax
    mov %eax, %cr3
    mov $0xc0000080, %ecx               # EFER: long mode
    rdmsr
    or $0x100, %eax
    wrmsr
    mov %cr0, %eax
    or $0x80000001, %eax                # paging, protected mode
    mov %eax, %cr0
    lgdt PHYSICAL(boot_gdt_pointer)
    ljmp $SELECTOR_KERNEL_CODE, $PHYSICAL(low64)

fail:                                   # edx = text: print it, stop
    mov %edx, %esi
1:  mov $(COM1 + 5), %dx
2:  in %dx, %al
    test $0x20, %al
    jz 2b
    mov $COM1, %dx
    lodsb
    test %al, %al
    jz 3f
    out %al, %dx
    jmp 1b
3:  mov $0xf4, %dx                      # ends an emulator's run, where it listens
    mov $1, %al
    out %al, %dx
4:  hlt
    jmp 4b

    .code64
low64:
    mov $boot_stack_top, %rsp
    mov %edi, %eax
    mov %esi, %edi                      # loader
    mov %eax, %esi                      # information
    xor %ebp, %ebp
    xor %eax, %eax
    mov %eax, %ss
    mov %eax, %ds
    mov %eax, %es
    mov $boot_main, %rax
    call *%rax
5:  hlt
    jmp 5b

    .section .rodata
message_cpu:
    .asciz "boot: this processor has no 64-bit mode (long mode); Ashlar needs an x86-64 processor. With QEMU use qemu-system-x86_64 -cpu max.\r\n"
message_loader:
    .asciz "boot: not started by a Multiboot2 loader or PVH; use GRUB's multiboot2 command or QEMU's -kernel.\r\n"
message_memory:
    .asciz "boot: too little memory for the kernel itself; with QEMU use -m 512M or more.\r\n"
    .balign 8
boot_gdt:
    .quad 0
    .quad 0x00af9b000000ffff            # kernel code
    .quad 0x00cf93000000ffff            # kernel data
boot_gdt_pointer:
    .short 23
    .long PHYSICAL(boot_gdt)

    .section .bss.last, "aw", @nobits   # kernel.ld puts it behind everything else
    .balign 4096
    .globl boot_root
boot_root:
    .skip 4096
boot_gib:
    .skip 4096
boot_pages:
    .skip 4096
    .skip 16384
boot_stack_top:
