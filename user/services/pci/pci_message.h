/* Message-signalled interrupts: a device that has the capability writes the message that the kernel tells instead of raising its
 * line. One message a device; of a capability with several, the others stay off. Facts from "PCI Local Bus Specification 3.0", 6.8. */
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

/* Has the device send messages. Returns 1; 0 if it keeps its line: it has no such capability, `slot` is NO_SLOT, or the kernel lets no
 * message pass. A device that sends messages leaves its line alone. */
static inline uint32_t message_set_up(uint32_t where, uint32_t slot)
{
    uint32_t at = slot == NO_SLOT ? 0 : config_capability(where, MESSAGE);
    uint64_t address = 0;
    uint64_t data = 0;

    if (at == 0 || sys_irq_message(slot, &address, &data) != STATUS_OK) {
        return 0;
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
