/* The guest's PCI bus as its ports 0xcf8 to 0xcff show it: a host bridge, and the device that the guest was given. Of the device's
 * configuration the guest sees what the monitor makes up from the device's identity and from where its registers are: none of its
 * capabilities, and nothing that could move the real registers or send messages. A guest without such a device has no bus. */
#ifndef VMM_PCI_CONFIG_H
#define VMM_PCI_CONFIG_H

#include <stdint.h>

#define PCI_PORT_ADDRESS 0xcf8u
#define PCI_PORT_DATA 0xcfcu
/* Guest-physical addresses that the guest may put registers at. */
#define PCI_WINDOW 0xe0000000ul
#define PCI_WINDOW_SIZE 0x10000000ul
#define PCI_SLOT 1u /* of the device */

/* As after power-on. `bar`: which base address register of the device, 0 to 5, its registers are shown by. */
void pci_reset(uint32_t bar);
/* Whether the guest has a bus. */
uint32_t pci_is_there(void);
/* An access of `size` 1, 2 or 4 bytes to the ports. */
uint32_t pci_port_read(uint32_t port, uint32_t size);
void pci_port_write(uint32_t port, uint32_t size, uint32_t value);
/* Whether the device's registers answer at a guest-physical address, to an access of so many bytes; `offset`: at which register. */
uint32_t pci_has(uint64_t address, uint32_t bytes, uint64_t *offset);

#endif
