/* The local interrupt controller: through its memory window (xAPIC), or MSRs (x2APIC) where the CPU has them. */
#include "interrupt/apic.h"

#include "cpu/constants.h"
#include "cpu/cpu.h"
#include "cpu/percpu.h"
#include "boot/platform.h"

#define BASE_ENABLE 0x800ul
#define BASE_X2APIC 0x400ul
#define COMMAND_NMI 0x400u
#define COMMAND_INIT 0x500u
#define COMMAND_STARTUP 0x600u
#define COMMAND_ASSERT 0x4000u
#define COMMAND_PENDING 0x1000u
#define COMMAND_OTHERS 0xc0000u

/* Each CPU writes both, and all the same. */
MACHINE_CONSTANT static uint32_t x2apic;
MACHINE_CONSTANT static uint64_t registers; /* where the memory window is mapped */

uint32_t apic_read(uint32_t reg)
{
    if (x2apic != 0) {
        return (uint32_t)read_msr(MSR_X2APIC + reg / 16);
    }
    return *(volatile uint32_t *)(registers + reg);
}

void apic_write(uint32_t reg, uint32_t value)
{
    if (x2apic != 0) {
        write_msr(MSR_X2APIC + reg / 16, value);
    } else {
        *(volatile uint32_t *)(registers + reg) = value;
    }
}

uint32_t apic_id(void)
{
    uint32_t id = apic_read(APIC_REG_ID);
    return x2apic != 0 ? id : id >> 24;
}

void apic_init_cpu(void)
{
    uint64_t base = read_msr(MSR_APIC_BASE) | BASE_ENABLE;

    if ((cpuid(1, 0).ecx & 1u << 21) != 0) {
        base |= BASE_X2APIC;
    }
    write_msr(MSR_APIC_BASE, base);
    x2apic = (base & BASE_X2APIC) != 0;
    registers = (uint64_t)direct(platform.local_apic);
    apic_write(APIC_REG_TASK_PRIORITY, 0);
    apic_write(APIC_REG_LVT_TIMER, APIC_LVT_MASKED);
    apic_write(APIC_REG_LVT_THERMAL, APIC_LVT_MASKED);
    apic_write(APIC_REG_LVT_COUNTER, APIC_LVT_MASKED);
    apic_write(APIC_REG_LVT_LINT0, APIC_LVT_MASKED); /* the 8259 */
    apic_write(APIC_REG_LVT_LINT1, APIC_LVT_NMI);
    apic_write(APIC_REG_LVT_ERROR, APIC_LVT_MASKED);
    apic_write(APIC_REG_SPURIOUS, 0x100u | VECTOR_SPURIOUS);
}

void apic_command(uint32_t destination, uint32_t value)
{
    if (x2apic != 0) {
        __asm__ volatile("mfence" : : : "memory"); /* the MSR write does not wait for earlier stores */
        write_msr(MSR_X2APIC + APIC_REG_COMMAND / 16, (uint64_t)destination << 32 | value);
        return;
    }
    while ((apic_read(APIC_REG_COMMAND) & COMMAND_PENDING) != 0) {
        cpu_pause();
    }
    apic_write(APIC_REG_COMMAND_HIGH, destination << 24);
    apic_write(APIC_REG_COMMAND, value);
}

void apic_send_init(uint32_t id)
{
    apic_command(id, COMMAND_INIT | COMMAND_ASSERT);
}

void apic_send_startup(uint32_t id, uint32_t page)
{
    apic_command(id, COMMAND_STARTUP | COMMAND_ASSERT | page);
}

void apic_stop_others(void)
{
    if (registers != 0) {
        apic_command(0, COMMAND_NMI | COMMAND_ASSERT | COMMAND_OTHERS);
    }
}

uint32_t arch_interrupt_pending(void)
{
    return apic_read(APIC_REG_REQUEST + 0x10u) != 0; /* vectors 32..63 */
}

void arch_interrupt_end(void)
{
    apic_write(APIC_REG_END, 0);
}

void arch_interrupt_send(uint32_t cpu, uint32_t vector)
{
    apic_command(percpu[cpu].apic_id, COMMAND_ASSERT | vector);
}
