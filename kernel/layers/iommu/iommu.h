/* DMA protection: one domain for each process that drives devices, holding the pages that the process has made
 * reachable (SYS_DMA_ADDRESS). The process's PCI functions are attached to the domain when it maps its first page,
 * and detached before the process's memory is freed. Drivers have device addresses equal physical addresses, so they are
 * the same with and without an IOMMU; a monitor gives its guest's device the guest's addresses. Tables are charged to the
 * process. Without an IOMMU nothing is mapped: iommu_map succeeds and does nothing.
 *
 * Lock: LOCK_IOMMU guards the domains, their tables and the units. The functions' owners are constant after
 * start-up. */
#ifndef ASHLAR_IOMMU_H
#define ASHLAR_IOMMU_H

#include <stdint.h>

#include "config.h"

/* Requires: start-up, one CPU. Ensures: no function has an owner, no domain exists. */
void iommu_init(void);

/* Requires: start-up; function < 65536 has no owner yet. Functions beyond NUM_DEVICE are not recorded and reach no
 * memory. */
void iommu_define(uint32_t function, uint32_t owner);

/* Device addresses lie below this: what three levels of tables translate. */
#define IOMMU_ADDRESS_END 0x8000000000ul

/* 1 if there is an IOMMU. */
uint32_t iommu_present(void);

/* Maps frame in p's domain at the device address `address`, writable if prot has PROT_WRITE. Requires: p < NUM_PROCESS
 * owns the frame until iommu_destroy_step has returned 0; address is page aligned and below IOMMU_ADDRESS_END. Returns
 * STATUS_OK, also if it is mapped there already; STATUS_RESTART: the same call must be repeated: it makes a table, shows a
 * part of it to the units, links it, attaches a function, or waits for a unit; ERR_ALREADY_MAPPED: another frame is mapped
 * there; ERR_QUOTA, ERR_NO_MEMORY. On an error nothing is changed, unless others have used up meanwhile what was left: then
 * p keeps some empty tables. */
uint32_t iommu_map(uint32_t p, uint64_t address, uint32_t frame, uint32_t prot);

/* The frame that p's devices reach at a device address, or NONE; write 1: for writing. */
uint32_t iommu_walk(uint32_t p, uint64_t address, uint32_t write);

/* One bounded step of destroying p's domain: detaches its functions one by one, each from one unit after the other, then
 * frees its tables. Requires: no thread of p can map pages any more. Returns 1 if there is more to do, else 0. */
uint32_t iommu_destroy_step(uint32_t p);

/* Number of recorded refusals for functions of p; p NONE: for functions without owner. */
uint64_t iommu_faults(uint32_t p);

/* One step of handling a recorded refusal: finds it, takes it, counts it, prints it. If another step may follow, this CPU
 * interrupts itself (VECTOR_IOMMU), so that other interrupts can be served in between. After IOMMU_PRINTED refusals units
 * do not interrupt any more, so that no device can keep a CPU busy: refusals are then counted, one at a time, when a
 * process maps a page or ends. */
void iommu_take_faults(void);

/* Interrupts this CPU if refusals are recorded. */
void iommu_notice(void);

/* The interrupt that units send when they record a refusal. */
#define VECTOR_IOMMU 60u

/* Requires: start-up. Ensures: refusals interrupt this CPU. */
void iommu_listen(uint32_t cpu);

uint32_t iommu_check(void);

#endif
