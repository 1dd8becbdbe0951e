/* Private to the iommu layer. Everything here requires LOCK_IOMMU held, or start-up. */
#ifndef ASHLAR_IOMMU_PARTS_H
#define ASHLAR_IOMMU_PARTS_H

#include <stdint.h>

/* ---- iommu_fault.c ---- */
void iommu_fault_init(void);

/* ---- iommu.c ---- */

/* The owner of a function, or NONE. */
uint32_t iommu_owner(uint32_t function);

#endif
