/* Which IOMMUs the machine has. */
#ifndef ASHLAR_X86_64_ACPI_IOMMU_H
#define ASHLAR_X86_64_ACPI_IOMMU_H

/* Notes in `platform` the units that the ACPI tables DMAR or IVRS name, if there are any. Ends the run if a table describes
 * units that the kernel cannot reach: devices would then be free where the user believes them confined. */
void acpi_find_iommus(void);

#endif
