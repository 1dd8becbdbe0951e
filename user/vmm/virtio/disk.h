/* The guest's disk: a client of who drives it, by the protocol `sata`. A driver that ends is a disk that stops until it has been
 * started anew; what was under way is then sent again, if it is still the same disk. */
#ifndef VMM_DISK_H
#define VMM_DISK_H

#include <stdint.h>

#define DISK_SLOTS 16u    /* requests at a time */
#define DISK_MOST 65536u  /* bytes of a request */
#define DISK_SERIAL 20u   /* bytes of a serial number */
#define DISK_NEVER (~0ul) /* no deadline */

struct disk_identity {
    uint64_t sectors;     /* that the guest may use; 0: there is no disk */
    uint32_t sector_size; /* bytes */
    uint32_t depth;       /* slots that may be used: those below */
    uint8_t serial[DISK_SERIAL];
};

enum disk_kind { DISK_READ, DISK_WRITE, DISK_FLUSH };

struct disk_work {
    enum disk_kind kind;
    uint32_t count; /* sectors */
    uint64_t sector;
    uint32_t force; /* to the medium before it is done */
};

/* Becomes the client of process `driver`. The guest gets the disk's first `limit` bytes. */
void disk_connect(const char *driver, uint64_t limit);
const struct disk_identity *disk_identity(void);
/* Begins work in a slot, and calls block_done() for it at some later time, once. */
void disk_begin(uint32_t slot, const struct disk_work *work);
/* Takes a message of the driver. disk_go_on() is to follow when there is no other. */
void disk_receive(uint32_t mailbox);
/* Gives the disk what has waited. */
void disk_go_on(void);
/* When disk_expire() is to be called at the latest; DISK_NEVER if it need not be. */
uint64_t disk_deadline(void);
void disk_expire(uint64_t now);

#endif
