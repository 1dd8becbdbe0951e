/* Configuration mechanism 1 and two functions of bus 0. Facts from "PCI Local Bus Specification 3.0", 3.2.2.3 and 6.1 to 6.2.5. */
#include "pci/config.h"

#include "pci/passed.h"

#define WORDS 16u /* of a header; those behind read as zero */
#define ENABLE 0x80000000u
#define NOTHING 0xffffffffu

#define ID 0u
#define COMMAND 1u
#define CLASS 2u
#define CACHE_LINE 3u
#define BARS 4u
#define NUM_BAR 6u
#define INTERRUPT 15u

#define COMMAND_MEMORY 0x2u
#define COMMAND_MASTER 0x4u
#define COMMAND_LINE_OFF 0x400u
#define PIN_A 0x100u

#define BRIDGE_ID 0x00081b36u /* a host bridge that emulators have; it needs no driver */
#define BRIDGE_CLASS 0x06000000u

struct function {
    uint32_t word[WORDS];
    uint32_t writable[WORDS];
};

static struct function bridge;
static struct function device;
static uint32_t device_bar; /* word */
static uint32_t selected;   /* the last address */

uint32_t pci_is_there(void)
{
    return passed_known() != 0;
}

void pci_reset(uint32_t bar)
{
    const struct passed_identity *identity = passed_known();
    uint64_t size = passed_size();
    bridge = (struct function){.word = {[ID] = BRIDGE_ID, [CLASS] = BRIDGE_CLASS}};
    device = (struct function){0};
    device_bar = BARS + (bar < NUM_BAR ? bar : 0);
    selected = 0;
    if (identity == 0) {
        return;
    }
    device.word[ID] = identity->vendor | (uint32_t)identity->device << 16;
    device.word[CLASS] = identity->class << 8 | identity->revision;
    device.word[device_bar] = (uint32_t)PCI_WINDOW; /* where firmware would have put it */
    device.word[INTERRUPT] = PASSED_LINE | PIN_A;
    device.writable[COMMAND] = COMMAND_MEMORY | COMMAND_MASTER | COMMAND_LINE_OFF;
    device.writable[CACHE_LINE] = 0xff;
    device.writable[device_bar] = ~(uint32_t)(size - 1);
    device.writable[INTERRUPT] = 0xff;
    passed_allow_interrupts(1);
}

/* The function that is selected; null if there is none. */
static struct function *function(void)
{
    if ((selected & ENABLE) == 0 || pci_is_there() == 0) {
        return 0;
    }
    switch (selected >> 8 & 0xffffu) { /* bus, device, function */
    case 0:
        return &bridge;
    case PCI_SLOT << 3:
        return &device;
    default:
        return 0;
    }
}

static uint32_t read_word(void)
{
    const struct function *f = function();
    uint32_t at = selected >> 2 & 0x3fu;
    if (f == 0) {
        return NOTHING;
    }
    return at < WORDS ? f->word[at] : 0;
}

static void write_word(uint32_t value, uint32_t mask)
{
    struct function *f = function();
    uint32_t at = selected >> 2 & 0x3fu;
    if (f == 0 || at >= WORDS) {
        return;
    }
    mask &= f->writable[at];
    f->word[at] = (f->word[at] & ~mask) | (value & mask);
    if (f == &device && at == COMMAND) {
        passed_allow_interrupts((f->word[at] & COMMAND_LINE_OFF) == 0);
    }
}

static uint32_t mask_of(uint32_t size)
{
    return 0xffffffffu >> (32 - 8 * size);
}

uint32_t pci_port_read(uint32_t port, uint32_t size)
{
    if (port >= PCI_PORT_DATA && port % 4 + size <= 4) {
        return read_word() >> port % 4 * 8 & mask_of(size);
    }
    return port == PCI_PORT_ADDRESS && size == 4 && pci_is_there() ? selected : mask_of(size);
}

void pci_port_write(uint32_t port, uint32_t size, uint32_t value)
{
    if (port >= PCI_PORT_DATA && port % 4 + size <= 4) {
        write_word(value << port % 4 * 8, mask_of(size) << port % 4 * 8);
    } else if (port == PCI_PORT_ADDRESS && size == 4) {
        selected = value;
    }
}

uint32_t pci_has(uint64_t address, uint32_t bytes, uint64_t *offset)
{
    uint64_t base = device.word[device_bar];
    if (pci_is_there() == 0 || (device.word[COMMAND] & COMMAND_MEMORY) == 0 || address < base ||
        address - base >= passed_size() || bytes > passed_size() - (address - base)) {
        return 0;
    }
    *offset = address - base;
    return 1;
}
