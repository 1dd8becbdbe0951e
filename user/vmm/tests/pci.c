/* What a guest sees of its PCI bus, and what it cannot change. */
#include "../pci/config.c"

#include "../../libc/tests/check.h"

#define SIZE 0x4000u
#define DEVICE (ENABLE | PCI_SLOT << 11)

static const struct passed_identity identity = {.vendor = 0x1b36, .device = 0x10, .class = 0x010802, .revision = 2};
static uint32_t is_known, is_allowed;

const struct passed_identity *passed_known(void)
{
    return is_known ? &identity : 0;
}

uint64_t passed_size(void)
{
    return SIZE;
}

void passed_allow_interrupts(uint32_t allowed)
{
    is_allowed = allowed;
}

static uint32_t read_at(uint32_t function, uint32_t offset)
{
    pci_port_write(PCI_PORT_ADDRESS, 4, function | offset);
    return pci_port_read(PCI_PORT_DATA, 4);
}

static void write_at(uint32_t function, uint32_t offset, uint32_t value)
{
    pci_port_write(PCI_PORT_ADDRESS, 4, function | offset);
    pci_port_write(PCI_PORT_DATA, 4, value);
}

static void reset(uint32_t bar)
{
    is_known = 1;
    is_allowed = 0;
    pci_reset(bar);
}

/* A guest without a device finds no bus at all, whatever it writes. */
static void nothing(void)
{
    uint64_t offset;
    is_known = 0;
    pci_reset(0);
    CHECK(pci_is_there() == 0);
    for (uint32_t function = 0; function < 0x100; function++) {
        CHECK(read_at(ENABLE | function << 8, 0) == NOTHING);
    }
    CHECK(pci_port_read(PCI_PORT_ADDRESS, 4) == NOTHING);
    write_at(DEVICE, 4, NOTHING);
    write_at(DEVICE, 0x10, 0xe0000000);
    CHECK(pci_has(0xe0000000, 4, &offset) == 0 && is_allowed == 0);
}

static void identities(void)
{
    reset(0);
    CHECK(read_at(ENABLE, 0) == 0x00081b36 && read_at(ENABLE, 8) == 0x06000000);
    CHECK(read_at(DEVICE, 0) == 0x00101b36 && read_at(DEVICE, 8) == 0x01080202);
    CHECK(read_at(DEVICE, 0x3c) == (0x100 | PASSED_LINE) && read_at(DEVICE, 0xc) == 0 && read_at(DEVICE, 0x34) == 0);
    CHECK(pci_port_read(PCI_PORT_ADDRESS, 4) == (DEVICE | 0x34));
    /* Two functions of bus 0 are all there is. */
    for (uint32_t function = 0; function < 0x10000; function++) {
        uint32_t is_there = function == 0 || function == PCI_SLOT << 3;
        CHECK((read_at(ENABLE | function << 8, 0) != NOTHING) == is_there);
    }
    CHECK(read_at(PCI_SLOT << 11, 0) == NOTHING); /* the mechanism is off */
    /* Narrow accesses, and those that reach over a word. */
    (void)read_at(DEVICE, 0);
    CHECK(pci_port_read(PCI_PORT_DATA + 2, 2) == 0x10 && pci_port_read(PCI_PORT_DATA + 1, 1) == 0x1b);
    CHECK(pci_port_read(PCI_PORT_DATA + 3, 2) == 0xffff && pci_port_read(PCI_PORT_ADDRESS, 2) == 0xffff);
}

/* Only what stands for the device's own choice can be written. */
static void writes(void)
{
    reset(0);
    for (uint32_t offset = 0; offset < 0x100; offset += 4) {
        write_at(DEVICE, offset, NOTHING);
        write_at(ENABLE, offset, NOTHING);
    }
    for (uint32_t offset = 0; offset < 0x100; offset += 4) {
        uint32_t value = read_at(DEVICE, offset);
        uint32_t wanted = offset == 0      ? 0x00101b36
                          : offset == 4    ? 0x406
                          : offset == 8    ? 0x01080202
                          : offset == 0xc  ? 0xff
                          : offset == 0x10 ? ~(SIZE - 1)
                          : offset == 0x3c ? 0x1ff
                                           : 0;
        CHECK(value == wanted);
        CHECK(read_at(ENABLE, offset) == (offset == 0 ? 0x00081b36 : offset == 8 ? 0x06000000 : 0));
    }
    pci_port_write(PCI_PORT_ADDRESS, 4, DEVICE | 4);
    pci_port_write(PCI_PORT_DATA + 1, 1, 0);
    CHECK(pci_port_read(PCI_PORT_DATA, 4) == 6);
    pci_port_write(PCI_PORT_DATA + 3, 2, 0xffff); /* reaches over the word */
    CHECK(pci_port_read(PCI_PORT_DATA, 4) == 6);
}

static void windows(void)
{
    uint64_t offset = 99;
    reset(0);
    CHECK(read_at(DEVICE, 0x10) == PCI_WINDOW && pci_has(PCI_WINDOW, 4, &offset) == 0); /* not switched on */
    write_at(DEVICE, 4, COMMAND_MEMORY);
    CHECK(pci_has(PCI_WINDOW, 4, &offset) && offset == 0);
    CHECK(pci_has(PCI_WINDOW + SIZE - 8, 8, &offset) && offset == SIZE - 8);
    CHECK(pci_has(PCI_WINDOW + SIZE - 4, 8, &offset) == 0 && pci_has(PCI_WINDOW + SIZE, 1, &offset) == 0);
    CHECK(pci_has(PCI_WINDOW - 1, 4, &offset) == 0 && pci_has(~0ul, 4, &offset) == 0 && pci_has(0, 4, &offset) == 0);
    write_at(DEVICE, 0x10, 0xe1234567);
    CHECK(read_at(DEVICE, 0x10) == 0xe1234000);
    CHECK(pci_has(PCI_WINDOW, 4, &offset) == 0 && pci_has(0xe1234010, 4, &offset) && offset == 0x10);
    write_at(DEVICE, 0x10, NOTHING); /* the end of 4 GiB does not wrap */
    CHECK(pci_has(0xfffffffful, 1, &offset) && pci_has(0xfffffffful, 2, &offset) == 0 && pci_has(0, 1, &offset) == 0);
    reset(2);
    CHECK(read_at(DEVICE, 0x10) == 0 && read_at(DEVICE, 0x18) == PCI_WINDOW);
    reset(6); /* there is none */
    CHECK(read_at(DEVICE, 0x10) == PCI_WINDOW);
}

static void interrupts(void)
{
    reset(0);
    CHECK(is_allowed);
    write_at(DEVICE, 4, COMMAND_LINE_OFF);
    CHECK(is_allowed == 0);
    write_at(DEVICE, 4, COMMAND_MASTER);
    CHECK(is_allowed);
}

int main(void)
{
    nothing();
    identities();
    writes();
    windows();
    interrupts();
    return 0;
}
