/* The few ACPI tables that let a stock kernel power off, and the registers behind them. */
#ifndef VMM_ACPI_H
#define VMM_ACPI_H

#include <stdint.h>

#define ACPI_BASE 0xe0000ul /* guest-physical, without a firmware; inside the range that the memory map reserves */
#define ACPI_SIZE 0x1000ul
#define ACPI_SCI_LINE 9u
#define ACPI_PM1_EVENT 0x600u   /* status and enable, 2 bytes each */
#define ACPI_PM1_CONTROL 0x604u /* 2 bytes */
#define ACPI_RESET_PORT 0xcf9u
#define ACPI_RESET_VALUE 6u
#define ACPI_SLEEP_TYPE_OFF 5u
#define ACPI_SLEEP_ENABLE 0x2000u

#define ACPI_ROOT_BYTES 36u

/* Writes the tables of a guest with so many virtual CPUs, 1 to MAX_CPUS, and with a PCI bus or without, at `to`, which becomes
 * guest-physical `base`. The root pointer is at its beginning. */
void acpi_build(uint8_t to[ACPI_SIZE], uint64_t base, uint32_t cpus, uint32_t has_pci);

#endif
