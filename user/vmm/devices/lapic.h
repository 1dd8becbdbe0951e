/* The local interrupt controller of a virtual CPU, with its registers in memory (xAPIC) or as model-specific registers (x2APIC,
 * lapic_msr.c). With the TSC-deadline mode of its timer a guest pays two exits a tick, one to arm and one to acknowledge, where
 * PIT and PIC take six; guests that know KVM's interface acknowledge through a word of their memory, without an exit. The 8259
 * pair comes in through input LINT0 of the bootstrap processor ("virtual wire").
 * Pure state: the caller passes the time. It is the CPU's own thread's; what others may ask is in lapic_name.c. */
#ifndef VMM_LAPIC_H
#define VMM_LAPIC_H

#include <stdint.h>

#define LAPIC_ADDRESS 0xfee00000ul
#define LAPIC_SIZE 0x1000ul
#define LAPIC_NEVER (~0ul)
#define LAPIC_NUM_LVT 6u

struct lapic {
    uint64_t base; /* the base-address register: enabled, x2APIC mode, bootstrap processor */
    uint32_t identifier;
    uint32_t task_priority;
    uint32_t spurious; /* spurious vector; bit 8: software enable */
    uint32_t logical_destination, destination_format;
    uint32_t command_low, command_high;
    uint32_t lvt[LAPIC_NUM_LVT]; /* timer, thermal, performance, LINT0, LINT1, error */
    uint32_t initial_count, divide;
    uint64_t tsc_khz;
    uint64_t deadline;             /* guest TSC; 0: not armed */
    uint64_t start;                /* ns when the counter was loaded */
    uint64_t next;                 /* ns of the timer's next expiry, or LAPIC_NEVER */
    uint64_t irr[4], isr[4];       /* requested and in service, a bit a vector */
    uint64_t tmr[4];               /* those that a level has requested last */
    uint32_t output;               /* vector to deliver now, or 0 */
    volatile uint32_t *shared_end; /* see lapic_share_end; or null */
    uint32_t end_offered;          /* 1: the guest may end the interrupt in service without an exit */
    /* What the last access has caused elsewhere; the caller clears it when that is done. */
    uint32_t sent;  /* 1: a command is in command_low and command_high */
    uint32_t ended; /* vector that a level had requested, or 0 */
};

/* As after power-on. Number 0 is the bootstrap processor. `tsc_khz`: rate of the guest's TSC. */
void lapic_init(struct lapic *lapic, uint32_t identifier, uint64_t tsc_khz);
/* What an INIT message leaves: everything as after power-on but identifier, base and mode. */
void lapic_reset(struct lapic *lapic);
/* Interrupts have come for these vectors; `level`: those that a level requests. */
void lapic_take(struct lapic *lapic, const uint64_t interrupt[4], const uint64_t level[4]);
/* Register at `offset` bytes, 32 bits wide. `now` in ns. */
uint32_t lapic_read(struct lapic *lapic, uint32_t offset, uint64_t now);
void lapic_write(struct lapic *lapic, uint32_t offset, uint32_t value, uint64_t now);
/* The TSC-deadline register; `tsc` is the guest's TSC at `now`. */
void lapic_set_deadline(struct lapic *lapic, uint64_t deadline, uint64_t tsc, uint64_t now);
/* The base-address register; `has_x2apic`: the mode is there. Returns 0 if the value is refused. */
uint32_t lapic_set_base(struct lapic *lapic, uint64_t value, uint32_t has_x2apic);
/* In which modes the registers are: in memory, model-specific. */
uint32_t lapic_in_memory(const struct lapic *lapic);
uint32_t lapic_is_wide(const struct lapic *lapic);
/* Lets the timer expire if it is time. */
void lapic_expire(struct lapic *lapic, uint64_t now);
/* The CPU takes the interrupt `output`. */
void lapic_acknowledge(struct lapic *lapic);
/* The word in the guest's memory through which it may end interrupts without an exit, as KVM's guests do; null: none. While
 * the word is 1, the guest ends the only interrupt in service by making it 0. */
void lapic_share_end(struct lapic *lapic, volatile uint32_t *word);
/* Sees what the guest has ended through the word. To be called after the guest has run, before anything else here. */
void lapic_catch_up(struct lapic *lapic);
/* 1 if the 8259 pair's request reaches the CPU. */
uint32_t lapic_passes_pic(const struct lapic *lapic);

/* ---- lapic_msr.c: requires lapic_is_wide() ---- */
#define LAPIC_MSR 0x800u
#define LAPIC_MSR_END 0x8ffu
/* Returns 0 if the register is not there, or refuses the access or value. */
uint32_t lapic_msr_read(struct lapic *lapic, uint32_t msr, uint64_t now, uint64_t *value);
uint32_t lapic_msr_write(struct lapic *lapic, uint32_t msr, uint64_t value, uint64_t now);

/* ---- lapic_name.c: any thread may ask ---- */
/* Does the destination name this controller? `is_wide`: it has 32 bits, else 8. */
uint32_t lapic_is_named(const struct lapic *lapic, uint32_t destination, uint32_t is_logical, uint32_t is_wide);
/* Does it take interrupts? */
uint32_t lapic_accepts(const struct lapic *lapic);
/* The destination of the command at hand. */
uint32_t lapic_destination(const struct lapic *lapic);

#endif
