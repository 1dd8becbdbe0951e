/* The slot of a PCI Express port that devices are put into and taken out of while the system runs. To take one
 * out, its user presses the slot's button; the device is gone when the slot's power is switched off. */
#ifndef ASHLAR_PCI_HOTPLUG_H
#define ASHLAR_PCI_HOTPLUG_H

#include "pci_config.h"

#define EXPRESS 0x10u /* the capability */
#define EXPRESS_SLOT_CAPABILITIES 0x14u
#define EXPRESS_SLOT_CONTROL 0x18u
#define EXPRESS_SLOT_STATUS 0x1au
#define SLOT_BUTTON_PRESENT 0x1u /* capabilities */
#define SLOT_POWER_PRESENT 0x2u
#define SLOT_HOT_PLUG 0x40u
#define SLOT_LAMP 0x300u /* control: the power indicator */
#define SLOT_LAMP_ON 0x100u
#define SLOT_LAMP_OFF 0x300u
#define SLOT_POWER_OFF 0x400u
#define SLOT_BUTTON 0x1u   /* status: was pressed */
#define SLOT_DEVICE 0x40u  /* there is one */
#define SLOT_EVENTS 0x11fu /* what is cleared by writing it back */

enum slot_event { SLOT_QUIET, SLOT_TAKEN, SLOT_FILLED };

struct slot {
    uint32_t port;    /* the bridge to it */
    uint32_t express; /* offset of its capability; 0: the device is not in such a slot */
    uint32_t is_full; /* a device is in it and has power */
};

/* The slot in which the device is, if it can be taken out there. */
static inline struct slot slot_of(uint32_t device)
{
    const uint32_t all = SLOT_BUTTON_PRESENT | SLOT_POWER_PRESENT | SLOT_HOT_PLUG;
    struct slot slot = {0, 0, 0};

    for (uint32_t port = 0; device >> 8 != 0 && port < CONFIG_NUM_BUS * 256u; port++) {
        if (config_read(port, CONFIG_ID) == CONFIG_NOTHING ||
            (config_read(port, CONFIG_HEADER) & HEADER_TYPE) != HEADER_BRIDGE ||
            (config_read(port, CONFIG_BUSES) >> 8 & 0xffu) != device >> 8) {
            continue;
        }
        uint32_t express = config_capability(port, EXPRESS);
        if (express != 0 && (config_read(port, express + EXPRESS_SLOT_CAPABILITIES) & all) == all) {
            slot = (struct slot){port, express, 1};
        }
        break;
    }
    return slot;
}

/* Has the port pass on the MiB at `window`. */
static inline void slot_open(const struct slot *slot, uint32_t window)
{
    uint32_t base = window >> 16 & 0xfff0u;

    config_write(slot->port, CONFIG_MEMORY, base << 16 | base);
    config_write16(slot->port, CONFIG_COMMAND, COMMAND_MEMORY | COMMAND_MASTER | COMMAND_LINE_OFF);
}

static inline void slot_switch(const struct slot *slot, uint32_t how)
{
    uint32_t control = config_read(slot->port, slot->express + EXPRESS_SLOT_CONTROL) & 0xffffu;

    config_write16(slot->port, slot->express + EXPRESS_SLOT_CONTROL, (control & ~(SLOT_LAMP | SLOT_POWER_OFF)) | how);
}

/* What has happened at the slot since the last call. A device that is to be taken out loses its power here. */
static inline enum slot_event slot_look(struct slot *slot)
{
    uint32_t status = config_read(slot->port, slot->express + EXPRESS_SLOT_CONTROL) >> 16;

    if ((status & SLOT_EVENTS) != 0) {
        config_write16(slot->port, slot->express + EXPRESS_SLOT_STATUS, status & SLOT_EVENTS);
    }
    if (slot->is_full && (status & (SLOT_BUTTON | SLOT_DEVICE)) != SLOT_DEVICE) {
        slot_switch(slot, SLOT_LAMP_OFF | SLOT_POWER_OFF);
        slot->is_full = 0;
        return SLOT_TAKEN;
    }
    if (!slot->is_full && (status & SLOT_DEVICE) != 0) {
        slot_switch(slot, SLOT_LAMP_ON);
        slot->is_full = 1;
        return SLOT_FILLED;
    }
    return SLOT_QUIET;
}

#endif
