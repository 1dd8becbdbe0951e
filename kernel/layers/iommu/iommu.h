/* What devices reach: a domain for each process that drives devices, whose pages are those that the process has named for
 * them (SYS_DMA_ADDRESS). The process's PCI functions are attached to it from the first such page on, and detached before the
 * process's memory is given back. Addresses are physical ones, so that a program is the same with and without an IOMMU.
 * Tables are charged to the process. Without an IOMMU nothing here does anything.
 *
 * Lock: LOCK_DEVICE guards the domains, their tables and the units. The functions' owners are constant after start-up. */
#ifndef ASHLAR_IOMMU_H
#define ASHLAR_IOMMU_H

#include <stdint.h>

#include "config.h"

/* Requires: start-up, one CPU. Ensures: no function has an owner, no domain exists. */
void iommu_init(void);

/* Requires: start-up; function < 65536; nobody else owns it. More than NUM_DEVICE functions: the rest reaches
 * nothing. */
void iommu_define(uint32_t function, uint32_t owner);

/* Lets p's devices reach frame, also for writing if prot has PROT_WRITE. Requires: p < NUM_PROCESS owns the frame until
 * iommu_destroy_step has returned 0. Returns STATUS_OK, also if they reach it already; STATUS_RESTART: not all of them yet, one
 * more piece is to be done by the same call; ERR_QUOTA, ERR_NO_MEMORY: nothing is changed. */
uint32_t iommu_map(uint32_t p, uint32_t frame, uint32_t prot);

/* The frame that p's devices reach at a physical address, or NONE; write 1: for writing. */
uint32_t iommu_walk(uint32_t p, uint64_t address, uint32_t write);

/* One bounded piece of the end of p's domain: first its devices lose it one by one, then its tables go. Requires: no thread of
 * p is left that could name pages. Returns 1 if there is more to do, else 0. */
uint32_t iommu_destroy_step(uint32_t p);

/* Refused accesses that were noticed, of functions of p; NONE: of functions that nobody has. */
uint64_t iommu_faults(uint32_t p);

/* Takes a few recorded refusals, counts them and tells the first ones on the kernel's console. If there are more, this CPU
 * interrupts itself for them (VECTOR_IOMMU), so that others can come between. Once the first ones are told, neither units nor
 * the CPU interrupt any more, so that no device can keep a CPU busy: refusals are then noticed, a few at a time, when a process
 * names a page or ends. */
void iommu_take_faults(void);

/* Has this CPU interrupted for refusals, if there are any. */
void iommu_notice(void);

/* The interrupt of units that have recorded a refusal. */
#define VECTOR_IOMMU 60u

/* Requires: start-up. Ensures: refusals interrupt this CPU. */
void iommu_listen(uint32_t cpu);

uint32_t iommu_check(void);

#endif
