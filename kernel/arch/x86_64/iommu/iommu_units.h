/* IOMMUs: start-up, and what the back ends for VT-d and AMD-Vi offer to arch.h's functions. */
#ifndef ASHLAR_X86_64_IOMMU_UNITS_H
#define ASHLAR_X86_64_IOMMU_UNITS_H

#include <stdint.h>

/* Number of contiguous frames that the units' own tables need. */
uint32_t iommu_units_frames(void);

/* Enables all units of `platform`, with tables at physical address `tables` and no function attached. Start-up, boot
 * CPU; requires the clock. Returns 0, or the reason for a failure. */
const char *iommu_units_start(uint64_t tables);

/* 1 if units remap the interrupts of I/O interrupt controllers, whose vectors must then be routed by iommu_route. */
uint32_t iommu_replaces(void);

/* Lets I/O interrupt controllers send this vector to this CPU, level triggered or not. Returns the upper word of the controller's
 * entry. Start-up, after iommu_units_start. */
uint32_t iommu_route(uint32_t vector, uint32_t apic_id, uint32_t is_level);

/* A write to memory that is an interrupt. */
struct message {
    uint64_t address; /* 0: none */
    uint32_t data;
};

/* The message by which this PCI function, and where interrupts are remapped no other one, sends this vector to this CPU.
 * Start-up, after iommu_units_start. */
struct message iommu_message(uint32_t vector, uint32_t apic_id, uint32_t function);

/* ---- shared by the back ends ---- */

/* Waits until the bits of mask in *word, a register of a unit or a word that it writes, are as expected. Returns 1,
 * or 0 if a second has passed. */
uint32_t iommu_await(const volatile uint32_t *word, uint32_t mask, uint32_t expected);

/* Stops the machine, because a unit may still use translations that it was told to drop. Does not return. */
void iommu_fatal(void);

/* Writes back the cache lines of `bytes` bytes at `address`, for units that are not cache-coherent. */
void iommu_write_back(const void *address, uint64_t bytes);

/* One recorded refusal. */
struct iommu_fault {
    uint32_t function;
    uint32_t write;
    uint64_t address;
};

/* ---- Intel VT-d ---- */
uint32_t vtd_frames(void); /* tables, queues, and last the table of interrupts */
const char *vtd_start(uint64_t tables);
uint32_t vtd_levels(void);
void vtd_flush(const void *address, uint64_t bytes);
void vtd_attach(uint32_t function, uint32_t domain, uint64_t root);
void vtd_detach(uint32_t function);
uint32_t vtd_caches_absent(void);
void vtd_update(uint32_t number, uint32_t domain);
uint64_t vtd_refused(void);                                     /* bit u: unit u has recorded some */
uint32_t vtd_fault(uint32_t number, struct iommu_fault *fault); /* takes one refusal of a unit; 0 if there is none */
void vtd_listen(uint32_t apic_id, uint32_t vector);             /* NONE: no interrupt */
void vtd_drop_interrupts(void);                                 /* start-up: no unit keeps entries of interrupts */

/* vtd_interrupts.c: the table of interrupts, and its use by a unit that has the table and the queue. */
void vtd_interrupts_build(uint64_t table); /* requires: its frame is cleared */
uint32_t vtd_replaces(void);
uint64_t vtd_interrupts_base(void); /* as a unit's register has it */
uint32_t vtd_route(uint32_t vector, uint32_t apic_id, uint32_t is_level);
struct message vtd_message(uint32_t vector, uint32_t apic_id, uint32_t function);

/* ---- AMD-Vi ---- */
uint32_t amdvi_frames(void);
const char *amdvi_start(uint64_t tables);
uint32_t amdvi_levels(void);
void amdvi_attach(uint32_t function, uint32_t domain, uint64_t root);
void amdvi_detach(uint32_t function);
void amdvi_update(uint32_t number, uint32_t function, uint32_t domain);
uint32_t amdvi_replaces(void);
void amdvi_route(uint32_t vector, uint32_t apic_id);
uint64_t amdvi_refused(void);
uint32_t amdvi_fault(uint32_t number, struct iommu_fault *fault);

#endif
