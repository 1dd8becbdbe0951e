/* ACPI: RSDP -> RSDT or XSDT -> MADT, HPET, FADT (-> DSDT for the sleep values). */
#include "boot/acpi.h"

#include "cpu/cpu.h"
#include "boot/info.h"
#include "boot/acpi_iommu.h"
#include "boot/platform.h"
#include "print.h"

#define FOUR_GIB 0x100000000ul
#define HEADER_BYTES 36u

#define MADT_LOCAL_APIC 0u
#define MADT_IO_APIC 1u
#define MADT_OVERRIDE 2u
#define MADT_LOCAL_APIC_ADDRESS 5u
#define MADT_LOCAL_X2APIC 9u
#define CPU_ENABLED 1u
#define FADT_TIMER_32_BIT 0x100u

static uint8_t get8(const uint8_t *table, uint32_t offset)
{
    return table[offset];
}

uint16_t acpi_get16(const uint8_t *table, uint32_t offset)
{
    return (uint16_t)(table[offset] | table[offset + 1] << 8);
}

uint32_t acpi_get32(const uint8_t *table, uint32_t offset)
{
    return acpi_get16(table, offset) | (uint32_t)acpi_get16(table, offset + 2) << 16;
}

uint64_t acpi_get64(const uint8_t *table, uint32_t offset)
{
    return acpi_get32(table, offset) | (uint64_t)acpi_get32(table, offset + 4) << 32;
}

static int checksum_right(const uint8_t *bytes, uint32_t count)
{
    uint8_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum = (uint8_t)(sum + bytes[i]);
    }
    return sum == 0;
}

static int same4(const uint8_t *bytes, const char *text)
{
    return bytes[0] == text[0] && bytes[1] == text[1] && bytes[2] == text[2] && bytes[3] == text[3];
}

void acpi_read_rsdp(const void *pointer)
{
    const uint8_t *rsdp = pointer;

    if (!same4(rsdp, "RSD ") || !same4(rsdp + 4, "PTR ") || !checksum_right(rsdp, 20)) {
        return;
    }
    boot_info.rsdt = acpi_get32(rsdp, 16);
    if (get8(rsdp, 15) >= 2 && checksum_right(rsdp, 36)) {
        boot_info.xsdt = acpi_get64(rsdp, 24);
    }
}

/* BIOS: the RSDP is at a 16-byte boundary between 0xe0000 and 0xfffff. */
static void scan_for_rsdp(void)
{
    for (uint64_t address = 0xe0000; address < 0x100000 && boot_info.rsdt == 0; address += 16) {
        acpi_read_rsdp(direct(address));
    }
}

/* The table at a physical address, or 0 if it is out of reach or damaged. */
static const uint8_t *open_table(uint64_t address)
{
    const uint8_t *table;
    if (address == 0 || address >= FOUR_GIB - HEADER_BYTES) {
        return 0;
    }
    table = direct(address);
    if (acpi_get32(table, 4) < HEADER_BYTES || address + acpi_get32(table, 4) > FOUR_GIB ||
        !checksum_right(table, acpi_get32(table, 4))) {
        return 0;
    }
    return table;
}

const uint8_t *acpi_find(const char *signature)
{
    uint32_t width = boot_info.xsdt != 0 && boot_info.xsdt < FOUR_GIB ? 8 : 4;
    const uint8_t *list = open_table(width == 8 ? boot_info.xsdt : boot_info.rsdt);

    if (list == 0) {
        boot_fail("the ACPI root table is damaged; update the firmware");
    }
    for (uint32_t at = HEADER_BYTES; at + width <= acpi_get32(list, 4); at += width) {
        uint64_t address = width == 8 ? acpi_get64(list, at) : acpi_get32(list, at);
        if (address != 0 && address < FOUR_GIB && same4(direct(address), signature)) {
            return open_table(address);
        }
    }
    return 0;
}

static void add_cpu(uint32_t apic_id, uint32_t flags)
{
    if ((flags & CPU_ENABLED) == 0 || apic_id == platform.apic_id[0]) {
        return;
    }
    if (platform.cpu_count == NUM_CPU) {
        platform.cpu_ignored++;
        return;
    }
    platform.apic_id[platform.cpu_count] = apic_id;
    platform.cpu_count++;
}

static void add_override(const uint8_t *entry)
{
    uint32_t source = get8(entry, 3);
    uint32_t pin = acpi_get32(entry, 4);
    uint32_t flags = acpi_get16(entry, 8);

    if (source < NUM_ISA_LINE && pin < 24) {
        platform.isa_line[source] = pin;
    }
    if (pin < NUM_ISA_LINE) {
        platform.pin_flags[pin] = ((flags >> 2 & 3) == 3 ? 1u : 0u) | ((flags & 3) == 3 ? 2u : 0u);
    }
}

static void read_madt(void)
{
    const uint8_t *madt = acpi_find("APIC");
    uint32_t lowest_base = ~0u;

    if (madt == 0) {
        boot_fail("the firmware has no intact ACPI MADT table (interrupt controllers); update the firmware");
    }
    platform.local_apic = acpi_get32(madt, 36);
    platform.apic_id[0] = cpuid(1, 0).ebx >> 24;
    platform.cpu_count = 1;
    for (uint32_t i = 0; i < NUM_ISA_LINE; i++) {
        platform.isa_line[i] = i;
    }
    for (uint32_t at = 44; at + 2 <= acpi_get32(madt, 4) && get8(madt, at + 1) >= 2; at += get8(madt, at + 1)) {
        const uint8_t *entry = madt + at;
        switch (get8(entry, 0)) {
        case MADT_LOCAL_APIC:
            add_cpu(get8(entry, 3), acpi_get32(entry, 4));
            break;
        case MADT_LOCAL_X2APIC:
            add_cpu(acpi_get32(entry, 4), acpi_get32(entry, 8));
            break;
        case MADT_IO_APIC:
            if (acpi_get32(entry, 8) < lowest_base) {
                lowest_base = acpi_get32(entry, 8);
                platform.io_apic = acpi_get32(entry, 4);
            }
            break;
        case MADT_OVERRIDE:
            add_override(entry);
            break;
        case MADT_LOCAL_APIC_ADDRESS:
            platform.local_apic = acpi_get64(entry, 4);
            break;
        default:
            break;
        }
    }
    if (platform.io_apic == 0 || lowest_base != 0 || platform.local_apic >= FOUR_GIB) {
        boot_fail("the ACPI MADT table names no I/O interrupt controller for lines 0 to 23; update the firmware");
    }
}

/* The package \_S5 in the DSDT's byte code: 0x12, length, count, two small integers. */
static void read_sleep_type(const uint8_t *dsdt)
{
    uint32_t value[2] = {0, 0};
    for (uint32_t at = HEADER_BYTES; at + 16 < acpi_get32(dsdt, 4); at++) {
        if (!same4(dsdt + at, "_S5_") || get8(dsdt, at + 4) != 0x12) {
            continue;
        }
        at += 6 + (get8(dsdt, at + 5) >> 6) + 1;
        for (uint32_t i = 0; i < 2; i++) {
            if (get8(dsdt, at) == 0x0a) { /* byte prefix */
                at++;
            }
            value[i] = get8(dsdt, at) & 7;
            at++;
        }
        platform.sleep_type_a = value[0];
        platform.sleep_type_b = value[1];
        return;
    }
    platform.pm1a_control = 0; /* not found: no power off this way */
}

static void read_fadt(void)
{
    const uint8_t *fadt = acpi_find("FACP");
    const uint8_t *dsdt = 0;

    if (fadt == 0) {
        return;
    }
    if (get8(fadt, 91) == 4) {
        platform.pm_timer_port = acpi_get32(fadt, 76);
    }
    platform.pm_timer_mask = (acpi_get32(fadt, 112) & FADT_TIMER_32_BIT) != 0 ? 0xffffffff : 0xffffff;
    platform.pm1a_control = acpi_get32(fadt, 64);
    platform.pm1b_control = acpi_get32(fadt, 68);
    if (acpi_get32(fadt, 4) >= 148) {
        dsdt = open_table(acpi_get64(fadt, 140));
    }
    if (dsdt == 0) {
        dsdt = open_table(acpi_get32(fadt, 40));
    }
    if (dsdt != 0) {
        read_sleep_type(dsdt);
    } else {
        platform.pm1a_control = 0;
    }
}

void acpi_read(void)
{
    const uint8_t *hpet;

    if (boot_info.rsdt == 0 && boot_info.xsdt == 0) {
        scan_for_rsdp();
    }
    if (boot_info.rsdt == 0 && boot_info.xsdt == 0) {
        boot_fail("no ACPI tables found; boot with ACPI switched on (QEMU: machine q35 or pc)");
    }
    read_madt();
    hpet = acpi_find("HPET");
    if (hpet != 0 && get8(hpet, 40) == 0 && acpi_get64(hpet, 44) < FOUR_GIB) {
        platform.hpet = acpi_get64(hpet, 44);
    }
    read_fadt();
    acpi_find_iommus();
}
