/* Private to the iommu layer. Everything here requires LOCK_IOMMU held, or start-up. */
#ifndef ASHLAR_IOMMU_PARTS_H
#define ASHLAR_IOMMU_PARTS_H

#include <stdint.h>

/* ---- iommu_table.c: the tables of a domain; root is the one of the highest of `levels` levels ---- */

/* A cleared table charged to p: its frame, FRAME_NO_QUOTA or NONE. */
uint32_t iommu_new_table(uint32_t p);

/* The error status for a failure value of iommu_new_table. */
uint32_t iommu_table_error(uint32_t refused);

/* Returns STATUS_OK, also if the page is mapped already; ERR_QUOTA, ERR_NO_MEMORY: nothing is changed. */
uint32_t iommu_map_page(uint32_t p, uint32_t root, uint32_t frame, uint32_t prot, uint32_t levels);

/* The entry for the page at address, 0 if there is none. */
uint64_t iommu_leaf(uint32_t root, uint64_t address, uint32_t levels);

/* Frees the first table that has no table below it. Requires: no device uses the tables. Returns 1 if there are more,
 * 0 if that was the root. */
uint32_t iommu_drop_table(uint32_t p, uint32_t root, uint32_t levels);

/* ---- iommu_fault.c ---- */
void iommu_fault_init(void);

/* ---- iommu.c ---- */

/* The owner of a function, or NONE. */
uint32_t iommu_owner(uint32_t function);

#endif
