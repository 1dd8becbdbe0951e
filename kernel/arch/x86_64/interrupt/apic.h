/* The local interrupt controller, for start-up and the rest of arch. */
#ifndef ASHLAR_X86_64_APIC_H
#define ASHLAR_X86_64_APIC_H

#include <stdint.h>

#define APIC_REG_ID 0x20u
#define APIC_REG_TASK_PRIORITY 0x80u
#define APIC_REG_END 0xb0u
#define APIC_REG_LOGICAL_DESTINATION 0xd0u
#define APIC_REG_SPURIOUS 0xf0u
#define APIC_REG_REQUEST 0x200u /* 8 words of 32 vectors, 0x10 apart */
#define APIC_REG_COMMAND 0x300u
#define APIC_REG_COMMAND_HIGH 0x310u
#define APIC_REG_LVT_TIMER 0x320u
#define APIC_REG_LVT_THERMAL 0x330u
#define APIC_REG_LVT_COUNTER 0x340u
#define APIC_REG_LVT_LINT0 0x350u
#define APIC_REG_LVT_LINT1 0x360u
#define APIC_REG_LVT_ERROR 0x370u
#define APIC_REG_TIMER_INITIAL 0x380u
#define APIC_REG_TIMER_CURRENT 0x390u
#define APIC_REG_TIMER_DIVIDE 0x3e0u
#define APIC_LVT_MASKED 0x10000u
#define APIC_LVT_NMI 0x400u
#define APIC_TIMER_DEADLINE 0x40000u

uint32_t apic_read(uint32_t reg);
void apic_write(uint32_t reg, uint32_t value);

uint32_t apic_id(void);

/* Enables this CPU's controller, with all local interrupts masked. Requires platform.local_apic. */
void apic_init_cpu(void);

/* Start-up of another CPU: INIT, then a start-up interrupt that makes it begin at page `page` of the first MiB. */
void apic_send_init(uint32_t apic_id);
void apic_send_startup(uint32_t apic_id, uint32_t page);

/* NMI to all other CPUs. */
void apic_stop_others(void);

#endif
