/* The machine's IOMMUs. */
#ifndef ASHLAR_X86_64_ACPI_IOMMU_H
#define ASHLAR_X86_64_ACPI_IOMMU_H

/* Records in `platform` the units that the ACPI tables DMAR or IVRS name, if there are any. Fails if the kernel
 * cannot use a unit: devices that the user believes confined would then reach all memory. */
void acpi_find_iommus(void);

#endif
