/* Which IOMMUs the machine has. */
#ifndef ASHLAR_BOOT_IOMMU_FIND_H
#define ASHLAR_BOOT_IOMMU_FIND_H

/* Notes in `platform` the units that the ACPI tables DMAR or IVRS name, if there are any. Ends the run if a table describes
 * units that the kernel cannot reach: devices would then be free where the user believes them confined. */
void iommu_find(void);

#endif
