/* Resetting one function of a PCI Express device, where it can be reset alone. Facts from "PCI Express Base Specification 3.0",
 * 6.6.2 and 7.8. */
#ifndef ASHLAR_PCI_RESET_H
#define ASHLAR_PCI_RESET_H

#include "pci_hotplug.h"

#define EXPRESS_DEVICE_CAPABILITIES 0x4u
#define EXPRESS_DEVICE_CONTROL 0x8u
#define DEVICE_CAN_RESET 0x10000000u
#define DEVICE_RESET 0x8000u
#define RESET_TIME 100000000ul /* ns: the device may leave configuration accesses unanswered meanwhile */

/* Returns 1 if the device has forgotten everything; 0 if it cannot be reset, or does not come back. It masters no bus then. */
static inline uint32_t function_reset(uint32_t where)
{
    uint32_t express = config_capability(where, EXPRESS);

    config_write(where, CONFIG_COMMAND, COMMAND_LINE_OFF);
    if (express == 0 || (config_read(where, express + EXPRESS_DEVICE_CAPABILITIES) & DEVICE_CAN_RESET) == 0) {
        return 0;
    }
    uint32_t control = config_read(where, express + EXPRESS_DEVICE_CONTROL) & 0xffffu;
    config_write16(where, express + EXPRESS_DEVICE_CONTROL, control | DEVICE_RESET);
    sys_sleep(sys_clock() + RESET_TIME);
    return config_read(where, CONFIG_ID) != CONFIG_NOTHING;
}

#endif
