/* A PCI device that the guest drives itself: its registers are reached through the monitor, its interrupt is a line of the guest's,
 * and behind the IOMMU it reaches the guest's memory at the guest's addresses, and nothing else.
 *
 * To the bus process the monitor is the device's driver: it speaks the protocol `pci`. All functions but the first two require the
 * machine's lock. */
#ifndef VMM_PASSED_H
#define VMM_PASSED_H

#include <stdint.h>

#define PASSED_LINE 14u /* of the guest: none of its other devices has it */

struct passed_identity {
    uint16_t vendor, device;
    uint32_t class; /* class << 16 | subclass << 8 | interface */
    uint8_t revision;
};

/* Becomes the driver of the device that the bus process has; maps its registers. Requires: domain_start() was called. Returns null,
 * or why the device cannot be passed. */
const char *passed_connect(void);
/* Lets the device reach `pages` pages of the guest's memory, which is mapped at `own`, from guest-physical `at` on. Returns a
 * status. */
uint32_t passed_map(uint64_t at, uint64_t own, uint64_t pages);
/* A message of the bus, or an interrupt. */
void passed_receive(uint32_t mailbox);
/* What it is; null while the bus has not given it. It stays known when it is lost. */
const struct passed_identity *passed_known(void);
/* Bytes of its registers, a power of two. */
uint64_t passed_size(void);
/* Registers, `bytes` 1, 2, 4 or 8 wide. Requires: offset + bytes <= passed_size(). A device that was lost reads as all ones. */
uint64_t passed_read(uint64_t offset, uint32_t bytes);
void passed_write(uint64_t offset, uint32_t bytes, uint64_t value);
/* Whether its interrupt may reach the guest (the command register says so). */
void passed_allow_interrupts(uint32_t allowed);
/* The guest has served the interrupt: the device may interrupt again, at once or at the deadline. */
void passed_end(void);
/* When passed_expire() has something to do; ~0: never. */
uint64_t passed_deadline(void);
void passed_expire(uint64_t now);
/* Looks whether it has, by the 8259 pair. To be called whenever that may have changed. */
void passed_follow(void);

#endif
