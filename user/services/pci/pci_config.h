/* The configuration space of PCI devices: of all through the ports 0xcf8..0xcff, or of one through its page in memory. A device
 * is named by bus, device and function, as one number: bus << 8 | device << 3 | function. */
#ifndef ASHLAR_PCI_CONFIG_H
#define ASHLAR_PCI_CONFIG_H

#include <stdint.h>

#include "ashlar/print.h"
#include "ashlar/syscall.h"

#define CONFIG_NUM_BUS 8u
#define CONFIG_ID 0x00u
#define CONFIG_COMMAND 0x04u /* the status is its upper half */
#define CONFIG_REVISION 0x08u
#define CONFIG_HEADER 0x0cu
#define CONFIG_BAR 0x10u
#define BAR_KIND 0x7u
#define BAR_LONG 0x4u       /* of memory, with 64 bits */
#define CONFIG_BUSES 0x18u  /* of a bridge: primary, secondary, last */
#define CONFIG_MEMORY 0x20u /* of a bridge: base and limit of what it passes on */
#define CONFIG_CAPABILITIES 0x34u
#define COMMAND_MEMORY 0x2u
#define COMMAND_MASTER 0x4u
#define COMMAND_LINE_OFF 0x400u /* no interrupts */
#define STATUS_CAPABILITIES 0x100000u
#define HEADER_TYPE 0x7f0000u
#define HEADER_BRIDGE 0x010000u
#define CONFIG_NOTHING 0xffffffffu /* what is read where no device is */

#define CONFIG_PAGE 0x0000300000000000ul /* where the page is mapped */

static uint32_t config_ports; /* slot of the ports */
static uint32_t config_owned; /* the device whose page this process holds; all others are nothing to it */
static uint32_t config_has_page;

/* Requires: before any other function. `page`: slot of the page of the device that is named so. */
static inline void config_use_page(uint32_t page, uint32_t where)
{
    if (sys_device_map(page, CONFIG_PAGE, 0) != STATUS_OK) {
        panic("the configuration page cannot be mapped\n");
    }
    config_owned = where;
    config_has_page = 1;
}

static inline volatile uint32_t *config_word(uint32_t offset)
{
    return (volatile uint32_t *)(CONFIG_PAGE + (offset & 0xffcu));
}

static inline void config_select(uint32_t where, uint32_t offset)
{
    sys_port_out(config_ports, 0, 4, 0x80000000u | where << 8 | (offset & 0xfcu));
}

static inline uint32_t config_read(uint32_t where, uint32_t offset)
{
    uint64_t value = 0;

    if (config_has_page) {
        return where == config_owned ? *config_word(offset) : CONFIG_NOTHING;
    }
    config_select(where, offset);
    if (sys_port_in(config_ports, 4, 4, &value) != STATUS_OK) {
        panic("the ports of PCI configuration cannot be read\n");
    }
    return (uint32_t)value;
}

static inline void config_write(uint32_t where, uint32_t offset, uint32_t value)
{
    if (config_has_page) {
        *config_word(offset) = value;
        return;
    }
    config_select(where, offset);
    sys_port_out(config_ports, 4, 4, value);
}

/* Half a register, and nothing of its other half. */
static inline void config_write16(uint32_t where, uint32_t offset, uint32_t value)
{
    if (config_has_page) {
        *(volatile uint16_t *)(CONFIG_PAGE + (offset & 0xffeu)) = (uint16_t)value;
        return;
    }
    config_select(where, offset);
    sys_port_out(config_ports, 4 + (offset & 2u), 2, value);
}

/* Offset of a capability of the device, 0 if it has none of the kind. */
static inline uint32_t config_capability(uint32_t where, uint32_t kind)
{
    if ((config_read(where, CONFIG_COMMAND) & STATUS_CAPABILITIES) == 0) {
        return 0;
    }
    uint32_t at = config_read(where, CONFIG_CAPABILITIES) & 0xfcu;
    for (uint32_t left = 48; at != 0 && left != 0; left--) {
        uint32_t word = config_read(where, at);
        if ((word & 0xffu) == kind) {
            return at;
        }
        at = word >> 8 & 0xfcu;
    }
    return 0;
}

#endif
