/* The start of a small kernel that runs as a guest: a PVH entry in 32-bit mode, an entry in real mode for further processors, both
 * leading to 64-bit mode with an identity map of the first 4 GiB, and interrupts that call guest_interrupt(). A program that includes
 * this defines guest_main() and guest_interrupt(); as a process of its own it only says what it is. */
#ifndef ASHLAR_GUEST_KERNEL_H
#define ASHLAR_GUEST_KERNEL_H

#include <stdint.h>

#define GUEST_CPUS 4u
#define GUEST_STACK 8192u
#define GUEST_TRAMPOLINE 0x8000ul /* page 8 of a start-up message */

/* Processor `cpu`, in the order in which they come; never returns. `start_info` of the first, else 0. */
void guest_main(uint64_t cpu, uint64_t start_info);
/* Before the interrupted code goes on; interrupts are off. */
void guest_interrupt(uint64_t vector);

uint8_t guest_stacks[GUEST_CPUS * GUEST_STACK] __attribute__((aligned(16)));
uint8_t guest_tables[6 * 4096] __attribute__((aligned(4096)));
uint64_t guest_idt[256 * 2] __attribute__((aligned(16)));
uint32_t guest_started; /* processors that have come, and come again */
extern const uint8_t guest_trampoline[], guest_trampoline_end[], guest_stubs[];

__asm__(".pushsection .note.ashlar, \"a\", @note\n"
        "    .balign 4\n    .long 4, 8, 18\n    .asciz \"Xen\"\n    .quad guest_start_32\n"
        ".popsection\n"
        ".pushsection .data\n"
        "    .balign 8\n"
        "guest_gdt: .quad 0, 0, 0x00af9b000000ffff, 0x00cf93000000ffff, 0x00cf9b000000ffff\n"
        ".globl guest_gdt_pointer\n"
        "guest_gdt_pointer: .word 39\n    .long guest_gdt\n    .long 0\n"
        "guest_idt_pointer: .word 4095\n    .quad guest_idt\n"
        ".popsection\n"
        ".pushsection .text\n"
        ".code32\n"
        "guest_start_32:\n"
        "    mov $guest_tables, %edi\n"
        "    lea 0x1003(%edi), %eax\n    mov %eax, (%edi)\n" /* root */
        "    mov $4, %ecx\n    lea 0x1000(%edi), %edx\n    lea 0x2003(%edi), %eax\n"
        "1:  mov %eax, (%edx)\n    add $0x1000, %eax\n    add $8, %edx\n    loop 1b\n"
        "    mov $2048, %ecx\n    lea 0x2000(%edi), %edx\n    mov $0x83, %eax\n"
        "2:  mov %eax, (%edx)\n    add $0x200000, %eax\n    add $8, %edx\n    loop 2b\n"
        "    lgdt guest_gdt_pointer\n"
        "    jmp guest_to_64\n"
        "guest_further_32:\n" /* a further processor, from real mode */
        "    mov $0x18, %ax\n    mov %ax, %ds\n    mov %ax, %es\n    mov %ax, %ss\n    xor %ebx, %ebx\n"
        "guest_to_64:\n"
        "    mov %cr4, %eax\n    or $0x20, %eax\n    mov %eax, %cr4\n"
        "    mov $guest_tables, %eax\n    mov %eax, %cr3\n"
        "    mov $0xc0000080, %ecx\n    rdmsr\n    or $0x100, %eax\n    wrmsr\n"
        "    mov %cr0, %eax\n    or $0x80000000, %eax\n    mov %eax, %cr0\n"
        "    ljmp $0x10, $guest_start_64\n"
        ".code64\n"
        "guest_start_64:\n"
        "    mov $0x18, %eax\n    mov %eax, %ss\n    mov %eax, %ds\n    mov %eax, %es\n"
        "    mov $1, %edi\n    lock xadd %edi, guest_started\n" /* which one it is */
        "    mov %edi, %eax\n    and $3, %eax\n    inc %eax\n    shl $13, %eax\n"
        "    lea guest_stacks(%rax), %rsp\n"
        "    lidt guest_idt_pointer\n"
        "    mov %ebx, %esi\n    call guest_main\n    ud2\n"
        ".globl guest_trampoline\n"
        "guest_trampoline:\n"
        ".code16\n"
        "    cli\n    xor %ax, %ax\n    mov %ax, %ds\n"
        "    lgdtl 0x8000 + guest_trampoline_gdt - guest_trampoline\n"
        "    mov %cr0, %eax\n    or $1, %eax\n    mov %eax, %cr0\n"
        "    ljmpl $0x20, $guest_further_32\n"
        "guest_trampoline_gdt: .word 39\n    .long guest_gdt\n"
        ".globl guest_trampoline_end\n"
        "guest_trampoline_end:\n"
        ".code64\n"
        "    .balign 16\n"
        ".globl guest_stubs\n"
        "guest_stubs:\n" /* sixteen bytes each; exceptions with an error code are not come back from */
        ".set vector, 0\n"
        ".rept 256\n"
        "    .balign 16\n    push $vector\n    jmp guest_common\n"
        ".set vector, vector + 1\n"
        ".endr\n"
        "guest_common:\n"
        "    push %rax\n    push %rcx\n    push %rdx\n    push %rsi\n    push %rdi\n    push %r8\n    push %r9\n"
        "    push %r10\n    push %r11\n    push %rbp\n    mov %rsp, %rbp\n    mov 80(%rsp), %rdi\n    and $-16, %rsp\n"
        "    movzbl %dil, %edi\n    call guest_interrupt\n"
        "    mov %rbp, %rsp\n    pop %rbp\n    pop %r11\n    pop %r10\n    pop %r9\n    pop %r8\n    pop %rdi\n"
        "    pop %rsi\n    pop %rdx\n    pop %rcx\n    pop %rax\n    add $8, %rsp\n    iretq\n"
        ".popsection\n");

/* Makes the interrupt descriptors, and puts the trampoline where start-up messages lead. By the first processor. */
static inline void guest_prepare(void)
{
    for (uint64_t i = 0; i < 256; i++) {
        uint64_t to = (uint64_t)guest_stubs + 16 * i;
        guest_idt[2 * i] = (to & 0xffff) | 0x10ul << 16 | 0x8e00ul << 32 | (to >> 16 & 0xffff) << 48;
        guest_idt[2 * i + 1] = to >> 32;
    }
    for (uint64_t i = 0; i < (uint64_t)(guest_trampoline_end - guest_trampoline); i++) {
        ((volatile uint8_t *)GUEST_TRAMPOLINE)[i] = guest_trampoline[i];
    }
}

static inline void guest_out(uint32_t port, uint32_t value)
{
    __asm__ volatile("out %b0, %w1" : : "a"(value), "Nd"(port));
}

static inline void guest_out_16(uint32_t port, uint32_t value)
{
    __asm__ volatile("out %w0, %w1" : : "a"(value), "Nd"(port));
}

static inline void guest_say(const char *text)
{
    for (; *text != 0; text++) {
        guest_out(0x3f8, (uint8_t)*text);
    }
}

static inline uint64_t guest_read_msr(uint32_t msr)
{
    uint32_t low, high;
    __asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr));
    return low | (uint64_t)high << 32;
}

static inline void guest_write_msr(uint32_t msr, uint64_t value)
{
    __asm__ volatile("wrmsr" : : "c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32)) : "memory");
}

#endif
