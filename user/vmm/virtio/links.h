/* What the monitor is a client of: who drives the guest's disk, and its network; and the bus of its PCI device (pci/passed.h).
 * Messages of all come by the monitor's own notification. */
#ifndef VMM_LINKS_H
#define VMM_LINKS_H

#include <stdint.h>

#define LINKS_NEVER (~0ul) /* no deadline */

/* Begins the domain, and becomes the client of these processes; an empty name: of none. The guest gets the first `disk_limit` bytes of the disk. */
void links_connect(const char *disk, uint64_t disk_limit, const char *network);
/* Whether there are any, links of the bus included, and which. */
uint32_t links_exist(void);
uint32_t links_have_disk(void);
uint32_t links_have_network(void);
/* Takes their messages. `bits`: what the monitor's notification has brought. */
void links_receive(uint64_t bits);
/* Wakes those for whom there are messages. */
void links_flush(void);
/* When links_expire() is to be called at the latest; LINKS_NEVER if it need not be. */
uint64_t links_deadline(void);
void links_expire(uint64_t now);

#endif
