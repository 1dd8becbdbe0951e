/* The interrupt table: the kernel uses vectors 0 to 63, the rest are ignored. One table for all CPUs, constant once
 * built. */
#include "cpu/cpu.h"
#include "cpu/percpu.h"

#define GATE_KERNEL 0x8eul /* present, DPL 0, interrupt gate */
#define GATE_USER 0xeeul   /* reachable by `int` */
#define VECTOR_NMI 2u
#define VECTOR_BREAKPOINT 3u
#define VECTOR_OVERFLOW 4u
#define VECTOR_DOUBLE_FAULT 8u
#define VECTOR_MACHINE_CHECK 18u
#define NUM_GATE 256u
#define NUM_OWN_GATE 64u

extern void arch_vector_stubs(void);
extern void arch_ignore_entry(void);

static uint64_t idt[NUM_GATE][2];

static void set_gate(uint32_t vector, uint64_t address, uint64_t type, uint64_t stack)
{
    idt[vector][0] = (address & 0xffff) | (uint64_t)SELECTOR_KERNEL_CODE << 16 | stack << 32 | type << 40 |
                     (address >> 16 & 0xffff) << 48;
    idt[vector][1] = address >> 32;
}

void idt_build(void)
{
    for (uint32_t vector = 0; vector < NUM_GATE; vector++) {
        if (vector >= NUM_OWN_GATE) {
            set_gate(vector, (uint64_t)&arch_ignore_entry, GATE_KERNEL, 0);
            continue;
        }
        uint64_t type = vector == VECTOR_BREAKPOINT || vector == VECTOR_OVERFLOW ? GATE_USER : GATE_KERNEL;
        uint64_t stack = vector == VECTOR_DOUBLE_FAULT    ? 1
                         : vector == VECTOR_NMI           ? 2
                         : vector == VECTOR_MACHINE_CHECK ? 3
                                                          : 0;
        set_gate(vector, (uint64_t)&arch_vector_stubs + 16 * vector, type, stack);
    }
}

uint64_t idt_base(void)
{
    return (uint64_t)idt;
}

void idt_load(void)
{
    struct {
        uint16_t limit;
        uint64_t base;
    } __attribute__((packed)) pointer = {sizeof idt - 1, (uint64_t)idt};
    __asm__ volatile("lidt %0" : : "m"(pointer));
}
