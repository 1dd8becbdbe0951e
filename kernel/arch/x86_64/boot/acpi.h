/* The firmware's tables that start-up needs: processors, interrupt controllers, clocks, power off. */
#ifndef ASHLAR_X86_64_ACPI_H
#define ASHLAR_X86_64_ACPI_H

#include <stdint.h>

/* Records the root tables of an RSDP, if its checksum is right. */
void acpi_read_rsdp(const void *rsdp);

/* The table with this signature; 0 if there is none, or it is damaged or out of reach. */
const uint8_t *acpi_find(const char *signature);

/* Fields of a table. */
uint16_t acpi_get16(const uint8_t *table, uint32_t offset);
uint32_t acpi_get32(const uint8_t *table, uint32_t offset);
uint64_t acpi_get64(const uint8_t *table, uint32_t offset);

/* Fills `platform`. Requires boot_info_read(). Ends the run if a table it needs is absent or damaged. */
void acpi_read(void);

#endif
