/* RSDP, XSDT, RSDT (which GRUB reads), FADT, MADT, FACS, DSDT. The FADT says: already in ACPI mode, no 8042, no VGA, reset by port 0xcf9, and no
 * power-management timer (the guest's clock is its TSC). The MADT names the virtual CPUs, and if there are several
 * the I/O APIC; else interrupts of devices go through the 8259 pair. The DSDT holds the object that power-off needs, the virtio devices, and the
 * PCI bus if the guest has one: a stock kernel drives them by such entries, without a word on its command line. */
#include "boot/acpi.h"

#include "ashlar/string.h"
#include "bytes.h"
#include "cpu/cpu.h"
#include "devices/ioapic.h"
#include "pci/config.h"
#include "pci/passed.h"
#include "virtio/bus.h"

#define RSDP 0x000u
#define XSDT 0x040u
#define FADT 0x080u
#define RSDT 0x180u
#define FACS 0x1c0u
#define MADT 0x200u
#define DSDT 0x2c0u /* last: it grows with the devices */
#define HEADER 36u
#define FADT_LENGTH 244u /* revision 3 */
#define BOOT_NO_VGA 4u
#define MADT_FIXED 44u
#define MADT_LOCAL 8u /* bytes of an entry: local APIC */
#define MADT_IO 12u   /* I/O APIC */
#define MADT_LINE 10u /* line of the 8259 pair that is another input there */
#define MADT_LENGTH(cpus) (MADT_FIXED + MADT_LOCAL * (cpus) + ((cpus) > 1 ? MADT_IO + 2 * MADT_LINE : 0))
#define LINE_AS_BUS 0u
#define LINE_HIGH_LEVEL 0xdu
#define MADT_HAS_8259 1u
#define FLAG_WBINVD 1u
#define FLAG_PROCESSOR_C1 4u
#define FLAG_NO_POWER_BUTTON 0x10u
#define FLAG_NO_SLEEP_BUTTON 0x20u
#define FLAG_RESET 0x400u

/* Sets the byte at `at` so that all `length` bytes add up to zero. */
static void checksum(uint8_t *table, uint32_t length, uint32_t at)
{
    uint8_t sum = 0;
    table[at] = 0;
    for (uint32_t i = 0; i < length; i++) {
        sum = (uint8_t)(sum + table[i]);
    }
    table[at] = (uint8_t)(0 - sum);
}

static void header(uint8_t *table, const char *signature, uint32_t length, uint32_t revision)
{
    memcpy(table, signature, 4);
    put(table + 4, length, 4);
    table[8] = (uint8_t)revision;
    memcpy(table + 10, "ASHLARASHLARVM", 14);
    put(table + 24, 1, 4);
    memcpy(table + 28, "ASHL", 4);
    put(table + 32, 1, 4);
    checksum(table, length, 9);
}

/* Generic address of an I/O port range of `bits`. */
static void port_address(uint8_t *to, uint32_t port, uint32_t bits)
{
    to[0] = 1;
    to[1] = (uint8_t)bits;
    put(to + 4, port, 8);
}

static void build_fadt(uint8_t *t, uint64_t base)
{
    put(t + 36, base + FACS, 4);
    put(t + 40, base + DSDT, 4);
    put(t + 46, ACPI_SCI_LINE, 2);
    put(t + 56, ACPI_PM1_EVENT, 4);
    put(t + 64, ACPI_PM1_CONTROL, 4);
    t[88] = 4;              /* bytes of the event block */
    t[89] = 2;              /* and of the control block */
    put(t + 96, 0xffff, 2); /* no C2 */
    put(t + 98, 0xffff, 2); /* no C3 */
    t[108] = 0x32;          /* the CMOS register with the century */
    put(t + 109, BOOT_NO_VGA, 2);
    put(t + 112, FLAG_WBINVD | FLAG_PROCESSOR_C1 | FLAG_NO_POWER_BUTTON | FLAG_NO_SLEEP_BUTTON | FLAG_RESET, 4);
    port_address(t + 116, ACPI_RESET_PORT, 8);
    t[128] = ACPI_RESET_VALUE;
    put(t + 132, base + FACS, 8);
    put(t + 140, base + DSDT, 8);
    port_address(t + 148, ACPI_PM1_EVENT, 32);
    port_address(t + 172, ACPI_PM1_CONTROL, 16);
    header(t, "FACP", FADT_LENGTH, 3);
}

static void build_line(uint8_t *entry, uint32_t line, uint32_t input, uint32_t flags)
{
    entry[0] = 2;
    entry[1] = MADT_LINE;
    entry[3] = (uint8_t)line;
    put(entry + 4, input, 4);
    put(entry + 8, flags, 2);
}

static void build_madt(uint8_t *t, uint32_t cpus)
{
    uint8_t *entry = t + MADT_FIXED;
    put(t + 36, LAPIC_ADDRESS, 4);
    put(t + 40, MADT_HAS_8259, 4);
    for (uint32_t i = 0; i < cpus; i++) {
        entry[0] = 0;
        entry[1] = MADT_LOCAL;
        entry[2] = (uint8_t)i;
        entry[3] = (uint8_t)i;
        entry[4] = 1; /* enabled */
        entry += MADT_LOCAL;
    }
    if (cpus > 1) {
        entry[0] = 1;
        entry[1] = MADT_IO;
        put(entry + 4, IOAPIC_ADDRESS, 4);
        build_line(entry + MADT_IO, 0, IOAPIC_TIMER_INPUT, LINE_AS_BUS);
        build_line(entry + MADT_IO + MADT_LINE, ACPI_SCI_LINE, ACPI_SCI_LINE, LINE_HIGH_LEVEL);
    }
    header(t, "APIC", MADT_LENGTH(cpus), 3);
}

/* Of each place on the bus of virtio devices:
 * Device (\_SB.VIO0) { Name (_HID, "LNRO0005") Name (_UID, 0) Name (_CRS, ResourceTemplate () {
 *     Memory32Fixed (ReadWrite, BUS_ADDRESS, VIRTIO_SIZE)
 *     Interrupt (ResourceConsumer, Level, ActiveHigh, Exclusive) {bus_line(0)} }) }
 * in a scope \_SB. Lengths count themselves: of the scope 68, of the device 59, of the buffer 26. The numbers are put in later;
 * the last byte, a checksum that is not used, is the string's own zero. */
static const uint8_t virtio_entry[] = "\x10\x44\x04\\_SB_"             /* Scope */
                                      "\x5b\x82\x3bVIO0"               /* Device */
                                      "\x08_HID\x0dLNRO0005\0"         /* Name, string */
                                      "\x08_UID\x0a\0"                 /* Name, byte */
                                      "\x08_CRS\x11\x1a\x0a\x17"       /* Name, buffer of 23 bytes */
                                      "\x86\x09\0\x01\0\0\0\0\0\0\0\0" /* fixed memory, writable */
                                      "\x89\x06\0\x01\x01\0\0\0\0" /* an interrupt: consumer, level, high, exclusive */
                                      "\x79";                      /* end */
#define ENTRY_BYTES sizeof virtio_entry
#define ENTRY_DIGIT 14u
#define ENTRY_UID 36u
#define ENTRY_ADDRESS 50u
#define ENTRY_SIZE 54u
#define ENTRY_IRQ 63u
#define S5_BYTES 14u

/* The PCI bus:
 * Device (\\_SB.PCI0) { Name (_HID, EisaId ("PNP0A03")) Name (_CRS, ResourceTemplate () {
 *     WordBusNumber (ResourceProducer, MinFixed, MaxFixed, PosDecode, 0, 0, 0, 0, 1)
 *     IO (Decode16, PCI_PORT_ADDRESS, PCI_PORT_ADDRESS, 1, 8)
 *     DWordMemory (ResourceProducer, PosDecode, MinFixed, MaxFixed, NonCacheable, ReadWrite, 0, PCI_WINDOW, its last byte, 0, size) })
 *   Name (_PRT, Package () { Package () {PCI_SLOT << 16 | 0xffff, 0, 0, PASSED_LINE} }) }
 * in a scope \\_SB. Of the scope 106 bytes, of the device 97, of the buffer 55, of the packages 14 and 11. */
static const uint8_t pci_entry[] = "\x10\x4a\x06\\_SB_"                         /* Scope */
                                   "\x5b\x82\x41\x06PCI0"                       /* Device */
                                   "\x08_HID\x0c\x41\xd0\x0a\x03"               /* Name, double word */
                                   "\x08_CRS\x11\x37\x0a\x34"                   /* Name, buffer of 52 bytes */
                                   "\x88\x0d\0\x02\x0c\0\0\0\0\0\0\0\0\0\x01\0" /* numbers of buses */
                                   "\x47\x01\xf8\x0c\xf8\x0c\x01\x08"           /* ports */
                                   "\x87\x17\0\0\x0c\x01\0\0\0\0"               /* memory: then first, last, 0, size */
                                   "\0\0\0\xe0\xff\xff\xff\xef\0\0\0\0\0\0\0\x10"
                                   "\x79\0"                                  /* end */
                                   "\x08_PRT\x12\x0e\x01"                    /* Name, package of one */
                                   "\x12\x0b\x04\x0c\xff\xff\x01\0\0\0\x0a"; /* package of four; the last is the line */
#define PCI_BYTES (sizeof pci_entry) /* the string's own zero becomes the line */
#define DSDT_FIXED (HEADER + S5_BYTES + BUS_DEVICES * (uint32_t)ENTRY_BYTES)
#define DSDT_LENGTH(has_pci) (DSDT_FIXED + ((has_pci) ? (uint32_t)PCI_BYTES : 0u))

_Static_assert(FADT + FADT_LENGTH <= RSDT && RSDT + HEADER + 8 <= FACS, "FADT, RSDT and FACS overlap");
_Static_assert(MADT + MADT_LENGTH(MAX_CPUS) <= DSDT, "the MADT reaches into the DSDT");
_Static_assert(PCI_BYTES == 1 + 106, "the scope's length is wrong");
_Static_assert(PCI_WINDOW == 0xe0000000ul && PCI_WINDOW_SIZE == 0x10000000ul && PCI_SLOT == 1,
               "the entry says other numbers");
_Static_assert(DSDT + DSDT_LENGTH(1) <= ACPI_SIZE, "the DSDT reaches out of the tables' memory");
_Static_assert(BUS_DEVICES <= 10, "the entry's name has one digit");

static void build_entry(uint8_t *entry, uint32_t place)
{
    memcpy(entry, virtio_entry, ENTRY_BYTES);
    entry[ENTRY_DIGIT] = (uint8_t)('0' + place);
    entry[ENTRY_UID] = (uint8_t)place;
    put(entry + ENTRY_ADDRESS, BUS_ADDRESS + place * BUS_STEP, 4);
    put(entry + ENTRY_SIZE, VIRTIO_SIZE, 4);
    put(entry + ENTRY_IRQ, bus_line(place), 4);
}

void acpi_build(uint8_t to[ACPI_SIZE], uint64_t base, uint32_t cpus, uint32_t has_pci)
{
    /* Name (\_S5, Package () {5, 5, 0, 0}) */
    static const uint8_t s5[S5_BYTES] = {
        0x08, '_', 'S', '5', '_', 0x12, 0x08, 0x04, 0x0a, ACPI_SLEEP_TYPE_OFF, 0x0a, ACPI_SLEEP_TYPE_OFF, 0x00, 0x00};
    memset(to, 0, ACPI_SIZE);

    uint8_t *rsdp = to + RSDP;
    memcpy(rsdp, "RSD PTR ", 8);
    memcpy(rsdp + 9, "ASHLAR", 6);
    rsdp[15] = 2;
    put(rsdp + 16, base + RSDT, 4);
    put(rsdp + 20, ACPI_ROOT_BYTES, 4);
    put(rsdp + 24, base + XSDT, 8);
    checksum(rsdp, 20, 8);
    checksum(rsdp, ACPI_ROOT_BYTES, 32);

    put(to + XSDT + HEADER, base + FADT, 8);
    put(to + XSDT + HEADER + 8, base + MADT, 8);
    header(to + XSDT, "XSDT", HEADER + 16, 1);

    put(to + RSDT + HEADER, base + FADT, 4);
    put(to + RSDT + HEADER + 4, base + MADT, 4);
    header(to + RSDT, "RSDT", HEADER + 8, 1);

    build_fadt(to + FADT, base);
    build_madt(to + MADT, cpus);

    memcpy(to + FACS, "FACS", 4);
    put(to + FACS + 4, 64, 4);
    to[FACS + 32] = 1;

    memcpy(to + DSDT + HEADER, s5, sizeof s5);
    for (uint32_t i = 0; i < BUS_DEVICES; i++) {
        build_entry(to + DSDT + HEADER + S5_BYTES + i * ENTRY_BYTES, i);
    }
    if (has_pci) {
        memcpy(to + DSDT + DSDT_FIXED, pci_entry, PCI_BYTES);
        to[DSDT + DSDT_FIXED + PCI_BYTES - 1] = PASSED_LINE;
    }
    header(to + DSDT, "DSDT", DSDT_LENGTH(has_pci), 2);
}
