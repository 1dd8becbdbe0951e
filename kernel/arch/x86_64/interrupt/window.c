/* Interrupt windows: the only places where kernel code can be interrupted. The stub records the vector and closes the
 * window, so at most one interrupt is taken; the others stay pending in the local controller. */
#include "cpu/cpu.h"
#include "cpu/percpu.h"

static uint32_t taken(void)
{
    uint32_t vector;
    __asm__ volatile("mov %%gs:%c1, %0" : "=r"(vector) : "i"(PERCPU_VECTOR) : "memory");
    return vector;
}

static void forget(void)
{
    __asm__ volatile("movl %0, %%gs:%c1" : : "i"(NONE), "i"(PERCPU_VECTOR) : "memory");
}

uint32_t arch_interrupt_poll(void)
{
    forget();
    __asm__ volatile("sti\n\tnop\n\tcli" : : : "memory"); /* sti takes effect after the next instruction */
    return taken();
}

uint32_t arch_idle(void)
{
    uint32_t vector = NONE;
    while (vector == NONE) { /* an NMI wakes it too */
        forget();
        __asm__ volatile("sti\n\thlt\n\tcli" : : : "memory");
        vector = taken();
    }
    return vector;
}
