/* What the two files of the local interrupt controller use of each other. */
#ifndef VMM_LAPIC_PARTS_H
#define VMM_LAPIC_PARTS_H

#include "devices/lapic.h"

#define BASE_BOOTSTRAP 0x100ul
#define BASE_WIDE 0x400ul /* x2APIC mode */
#define BASE_ENABLE 0x800ul
#define SOFTWARE_ENABLE 0x100u /* of the spurious vector's register */
#define LVT_TIMER 0u           /* entry of the local vector table */
#define LVT_MASKED 0x10000u

/* Requests an interrupt of this vector, unless it is one of the sixteen that no controller may send. */
void lapic_request(struct lapic *lapic, uint32_t vector);

/* Writes the timer's entry of the local vector table. */
void lapic_set_timer(struct lapic *lapic, uint32_t entry);
/* What the counter stands at; 0 in the deadline mode. */
uint32_t lapic_current_count(const struct lapic *lapic, uint64_t now);
/* Starts the counter from `count`, or stops it if that is 0. */
void lapic_load_counter(struct lapic *lapic, uint32_t count, uint64_t now);

#endif
