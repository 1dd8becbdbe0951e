/* The I/O interrupt controller. */
#include "devices/ioapic.h"

#define REG_SELECT 0x00u
#define REG_WINDOW 0x10u
#define REG_END 0x40u
#define INDEX_IDENTIFIER 0u
#define INDEX_VERSION 1u
#define INDEX_ARBITRATION 2u
#define INDEX_ENTRY 0x10u
#define VERSION (0x20u | (IOAPIC_INPUTS - 1) << 16) /* 0x20: with the register that ends interrupts */

#define ENTRY_VECTOR 0xfful
#define ENTRY_MODE(entry) ((uint32_t)((entry) >> 8 & 7))
#define ENTRY_LOGICAL 0x800ul
#define ENTRY_BUSY 0x4000ul /* remote IRR: sent for a level, and not ended */
#define ENTRY_LEVEL 0x8000ul
#define ENTRY_MASKED 0x10000ul
#define ENTRY_FIELDS 0xff0000000001affful /* what the guest writes */
#define MODE_EXTERNAL 7u

void ioapic_init(struct ioapic *ioapic)
{
    *ioapic = (struct ioapic){0};
    for (uint32_t i = 0; i < IOAPIC_INPUTS; i++) {
        ioapic->entry[i] = ENTRY_MASKED;
    }
}

static void send(struct ioapic *ioapic, uint32_t input)
{
    uint64_t entry = ioapic->entry[input];
    if (ENTRY_MODE(entry) == MODE_EXTERNAL) {
        return; /* the 8259 pair is not wired to an input */
    }
    if ((entry & ENTRY_LEVEL) != 0) {
        ioapic->entry[input] |= ENTRY_BUSY;
    }
    ioapic_send((uint32_t)(entry >> 56), (entry & ENTRY_LOGICAL) != 0, ENTRY_MODE(entry),
                (uint32_t)(entry & ENTRY_VECTOR), (entry & ENTRY_LEVEL) != 0);
}

/* Sends what a level requests. */
static void follow_level(struct ioapic *ioapic, uint32_t input)
{
    uint64_t entry = ioapic->entry[input];
    if ((ioapic->lines >> input & 1) != 0 && (entry & (ENTRY_LEVEL | ENTRY_BUSY | ENTRY_MASKED)) == ENTRY_LEVEL) {
        send(ioapic, input);
    }
}

void ioapic_set_line(struct ioapic *ioapic, uint32_t input, uint32_t level)
{
    uint32_t before = ioapic->lines >> input & 1;
    ioapic->lines = (ioapic->lines & ~(1u << input)) | level << input;
    if ((ioapic->entry[input] & (ENTRY_LEVEL | ENTRY_MASKED)) == 0 && level > before) {
        send(ioapic, input);
    }
    follow_level(ioapic, input);
}

void ioapic_end(struct ioapic *ioapic, uint32_t vector)
{
    for (uint32_t i = 0; i < IOAPIC_INPUTS; i++) {
        uint64_t entry = ioapic->entry[i];
        if ((entry & ENTRY_VECTOR) == vector && (entry & ENTRY_LEVEL) != 0) {
            ioapic->entry[i] = entry & ~ENTRY_BUSY;
            ioapic_ended(i);
            follow_level(ioapic, i);
        }
    }
}

static uint32_t input_of(uint32_t index)
{
    return (index - INDEX_ENTRY) / 2;
}

uint32_t ioapic_read(const struct ioapic *ioapic, uint32_t offset)
{
    uint32_t index = ioapic->selected;
    if (offset == REG_SELECT) {
        return index;
    }
    if (offset != REG_WINDOW) {
        return 0;
    }
    if (index >= INDEX_ENTRY && input_of(index) < IOAPIC_INPUTS) {
        return (uint32_t)(ioapic->entry[input_of(index)] >> (index % 2 * 32));
    }
    return index == INDEX_VERSION                                    ? VERSION
           : index == INDEX_IDENTIFIER || index == INDEX_ARBITRATION ? ioapic->identifier
                                                                     : 0;
}

/* An entry that is no level's any more waits for no end. */
static void write_entry(struct ioapic *ioapic, uint32_t index, uint32_t value)
{
    uint64_t *entry = &ioapic->entry[input_of(index)];
    uint32_t shift = index % 2 * 32;
    uint64_t fields = ENTRY_FIELDS & 0xfffffffful << shift;
    *entry = (*entry & ~fields) | ((uint64_t)value << shift & fields);
    if ((*entry & ENTRY_LEVEL) == 0) {
        *entry &= ~ENTRY_BUSY;
    }
    follow_level(ioapic, input_of(index));
}

void ioapic_write(struct ioapic *ioapic, uint32_t offset, uint32_t value)
{
    uint32_t index = ioapic->selected;
    if (offset == REG_SELECT) {
        ioapic->selected = value & 0xff;
    } else if (offset == REG_END) {
        ioapic_end(ioapic, value & 0xff);
    } else if (offset == REG_WINDOW && index >= INDEX_ENTRY && input_of(index) < IOAPIC_INPUTS) {
        write_entry(ioapic, index, value);
    } else if (offset == REG_WINDOW && index == INDEX_IDENTIFIER) {
        ioapic->identifier = value & 0x0f000000;
    }
}
