/* The firmware's tables, as far as start-up needs them: processors, interrupt controllers, clocks, power off. */
#ifndef ASHLAR_BOOT_ACPI_H
#define ASHLAR_BOOT_ACPI_H

#include <stdint.h>

/* Notes the root tables of an RSDP, if its checksum is right. */
void acpi_read_rsdp(const void *rsdp);

/* Fills `platform`. Requires boot_info_read(). Ends the run if a table it needs is absent or damaged. */
void acpi_read(void);

#endif
