/* Registers of a driver's device on the PCI bus. Each access is announced by a message, so that
 * checker and monitor see that the device is on. */
#ifndef ASHLAR_PCI_REGISTERS_H
#define ASHLAR_PCI_REGISTERS_H

#include <stdint.h>

#include "ashlar/driver.h"
#include "pci_protocol.h"

static inline uint8_t read8(uint32_t offset)
{
    EMIT(PCI_ACCESS);
    return register_read8(offset);
}

static inline uint16_t read16(uint32_t offset)
{
    EMIT(PCI_ACCESS);
    return register_read16(offset);
}

static inline uint32_t read32(uint32_t offset)
{
    EMIT(PCI_ACCESS);
    return register_read32(offset);
}

static inline void write8(uint32_t offset, uint8_t value)
{
    EMIT(PCI_ACCESS);
    register_write8(offset, value);
}

static inline void write16(uint32_t offset, uint16_t value)
{
    EMIT(PCI_ACCESS);
    register_write16(offset, value);
}

static inline void write32(uint32_t offset, uint32_t value)
{
    EMIT(PCI_ACCESS);
    register_write32(offset, value);
}

#endif
