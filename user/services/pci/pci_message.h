/* Message-signalled interrupts: a device that has one of the two capabilities writes the message that the kernel tells instead of
 * raising its line. One message a device; of a capability with several, the others stay off. With the second one, MSI-X, the message
 * stands in a table among the device's registers. The page of the table belongs to the bus process alone: who can write it says
 * which interrupts the device causes. Of a device with both the table is used if this process was given it. Facts from "PCI Local
 * Bus Specification 3.0", 6.8. */
#ifndef ASHLAR_PCI_MESSAGE_H
#define ASHLAR_PCI_MESSAGE_H

#include "pci_config.h"

#define MESSAGE 0x05u /* the capability */
#define MESSAGE_ADDRESS 0x4u
#define MESSAGE_DATA 0x8u /* 0xc where the address has 64 bits */
#define MESSAGE_CONTROL 0x2u
#define MESSAGE_ENABLE 0x1u
#define MESSAGE_SEVERAL 0x70u /* how many messages are on, as a power of two */
#define MESSAGE_LONG 0x80u

#define TABLE 0x11u /* the capability MSI-X */
#define TABLE_CONTROL 0x2u
#define TABLE_PLACE 0x4u
#define TABLE_BAR 0x7u /* of the place: which base address register; the rest is the offset from there */
#define TABLE_ENABLE 0x8000u
#define TABLE_MASK 0x4000u /* no message of the table is sent */

#define TABLE_PAGE 0x0000300000001000ul /* where the page of the table is mapped */
#define TABLE_PAGE_SIZE 4096u

static volatile uint32_t *message_table; /* its first entry; 0: this process has not been given the table */

/* The page that is `device` is at `offset` of what base address register `bar` names: is it where the device has its table?
 * Requires: before message_set_up. */
static inline void message_use_table(uint32_t where, uint32_t device, uint32_t bar, uint32_t offset)
{
    uint32_t at = config_capability(where, TABLE);
    uint32_t place = at == 0 ? 0 : config_read(where, at + TABLE_PLACE);

    if (at == 0 || (place & TABLE_BAR) != bar || (place & ~(TABLE_PAGE_SIZE - 1)) != offset) {
        print("BUS the table of messages is elsewhere: the device keeps its line\n");
        return;
    }
    if (sys_device_map(device, TABLE_PAGE, 0) != STATUS_OK) {
        panic("the page of the table of messages cannot be mapped\n");
    }
    message_table = (volatile uint32_t *)(TABLE_PAGE + (place & ~TABLE_BAR) % TABLE_PAGE_SIZE);
}

/* Requires: the table answers to accesses only while the device does; it does not master the bus meanwhile. */
static inline uint32_t message_set_up_table(uint32_t where, uint64_t address, uint64_t data)
{
    uint32_t at = config_capability(where, TABLE);

    if (at == 0 || message_table == 0) {
        return 0;
    }
    config_write(where, CONFIG_COMMAND, COMMAND_MEMORY | COMMAND_LINE_OFF);
    message_table[0] = (uint32_t)address;
    message_table[1] = (uint32_t)(address >> 32);
    message_table[2] = (uint32_t)data;
    message_table[3] = 0; /* not masked, as the others are */
    uint32_t control = config_read(where, at) >> 16;
    config_write16(where, at + TABLE_CONTROL, (control & ~TABLE_MASK) | TABLE_ENABLE);
    return 1;
}

/* Has the device send messages. Returns 1; 0 if it keeps its line: it has no such capability, or a table that this process was not
 * given, `slot` is NO_SLOT, or the kernel lets no message pass. A device that sends messages leaves its line alone. */
static inline uint32_t message_set_up(uint32_t where, uint32_t slot)
{
    uint32_t at = slot == NO_SLOT ? 0 : config_capability(where, MESSAGE);
    uint64_t address = 0;
    uint64_t data = 0;

    if (slot == NO_SLOT || sys_irq_message(slot, &address, &data) != STATUS_OK) {
        return 0;
    }
    if (at == 0 || message_table != 0) {
        return message_set_up_table(where, address, data);
    }
    uint32_t control = config_read(where, at) >> 16;
    config_write(where, at + MESSAGE_ADDRESS, (uint32_t)address);
    if ((control & MESSAGE_LONG) != 0) {
        config_write(where, at + MESSAGE_ADDRESS + 4, (uint32_t)(address >> 32));
        config_write16(where, at + MESSAGE_DATA + 4, (uint32_t)data);
    } else {
        config_write16(where, at + MESSAGE_DATA, (uint32_t)data);
    }
    config_write16(where, at + MESSAGE_CONTROL, (control & ~MESSAGE_SEVERAL) | MESSAGE_ENABLE);
    return 1;
}

#endif
