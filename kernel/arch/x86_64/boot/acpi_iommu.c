/* ACPI's DMAR (Intel VT-d) and IVRS (AMD-Vi). Regions that the firmware reserves for its own DMA are not mapped:
 * after start-up the firmware drives no device that the kernel grants. */
#include "boot/acpi_iommu.h"

#include "boot/acpi.h"
#include "boot/platform.h"
#include "print.h"

#define FOUR_GIB 0x100000000ul
#define LENGTH 4u /* of a table, in its header */
#define DMAR_FIRST 48u
#define DMAR_UNIT 0u
#define DMAR_SEGMENT 6u
#define DMAR_BASE 8u
#define DMAR_FLAGS 37u       /* of the table */
#define DMAR_INTERRUPTS 0x1u /* units can remap interrupts */
#define DMAR_DEVICES 16u
#define DMAR_IO_APIC 3u
#define DMAR_ONE_HOP 8u /* bytes of a device that no bridge hides */
#define IVRS_FIRST 48u
#define IVRS_UNIT 0x10u
#define IVRS_BASE 8u
#define IVRS_SEGMENT 16u
#define IVRS_DEVICES 24u
#define IVRS_SPECIAL 0x48u
#define IVRS_IO_APIC 1u

static void add(uint32_t kind, uint64_t base, uint32_t segment)
{
    if (base == 0 || base % 4096 != 0 || base > FOUR_GIB - IOMMU_WINDOW || segment != 0 ||
        platform.iommu_count == NUM_IOMMU) {
        boot_fail(
            "this machine's IOMMU at %x cannot be used (more than %u, above 4 GiB, or of another PCI segment); switch "
            "it off in the firmware set-up if drivers are to be trusted",
            base, NUM_IOMMU);
    }
    platform.iommu_kind = kind;
    platform.iommu[platform.iommu_count] = base;
    platform.iommu_count++;
}

static void add_io_apic(uint32_t function)
{
    if (platform.num_io_apic_function < NUM_IOMMU) {
        platform.io_apic_function[platform.num_io_apic_function] = function;
        platform.num_io_apic_function++;
    }
}

/* Records the I/O interrupt controllers among the devices of a unit, from `at` to `end`. */
static void read_dmar_devices(const uint8_t *dmar, uint32_t at, uint32_t end)
{
    while (at + DMAR_ONE_HOP <= end && dmar[at + 1] >= 6) {
        if (dmar[at] == DMAR_IO_APIC && dmar[at + 1] == DMAR_ONE_HOP) {
            add_io_apic((uint32_t)dmar[at + 5] << 8 | (uint32_t)(dmar[at + 6] & 31u) << 3 | (dmar[at + 7] & 7u));
        }
        at += dmar[at + 1];
    }
}

/* The same of AMD's table. */
static void read_ivrs_devices(const uint8_t *ivrs, uint32_t at, uint32_t end)
{
    while (at + 8 <= end) {
        uint32_t type = ivrs[at];
        if (type == IVRS_SPECIAL && ivrs[at + 7] == IVRS_IO_APIC) {
            add_io_apic(acpi_get16(ivrs, at + 5));
        }
        at += type < 0x40 ? 4 : type < 0x80 ? 8 : type < 0xc0 ? 16 : 32;
    }
}

void acpi_find_iommus(void)
{
    const uint8_t *dmar = acpi_find("DMAR");
    const uint8_t *ivrs = acpi_find("IVRS");

    if (dmar != 0) {
        uint32_t end = acpi_get32(dmar, LENGTH);
        for (uint32_t at = DMAR_FIRST; at + 16 <= end && acpi_get16(dmar, at + 2) >= 4;
             at += acpi_get16(dmar, at + 2)) {
            if (acpi_get16(dmar, at) == DMAR_UNIT) {
                add(IOMMU_INTEL, acpi_get64(dmar, at + DMAR_BASE), acpi_get16(dmar, at + DMAR_SEGMENT));
                if ((dmar[DMAR_FLAGS] & DMAR_INTERRUPTS) != 0) {
                    read_dmar_devices(dmar, at + DMAR_DEVICES, at + acpi_get16(dmar, at + 2));
                }
            }
        }
        return;
    }
    if (ivrs != 0) {
        uint32_t end = acpi_get32(ivrs, LENGTH);
        for (uint32_t at = IVRS_FIRST; at + 24 <= end && acpi_get16(ivrs, at + 2) >= 4;
             at += acpi_get16(ivrs, at + 2)) {
            if (ivrs[at] == IVRS_UNIT) {
                add(IOMMU_AMD, acpi_get64(ivrs, at + IVRS_BASE), acpi_get16(ivrs, at + IVRS_SEGMENT));
                read_ivrs_devices(ivrs, at + IVRS_DEVICES, at + acpi_get16(ivrs, at + 2));
            }
        }
    }
}
