/* A disk for programs that ask for one thing at a time and wait for it: the process, or the part of a disk, that the description's
 * key `disk` gives this process. What is lost because a driver or a service ended, or because another client's error stopped the disk, is
 * asked for again, as long as it takes; only what the disk itself refuses fails, and what is under way when the disk is taken out.
 *
 * A write is acknowledged when disk_write() returns; it is on the medium when it was forced, or when a disk_flush() that began
 * later has returned 1. */
#ifndef ASHLAR_DISK_H
#define ASHLAR_DISK_H

#include <stdint.h>

#define DISK_TRANSFER 65536u /* bytes of a read or write at most */

/* Waits until the disk is there. Requires: called once, before the others, and the process opens no ports of a domain itself. Ends
 * the process with a message if the description gives it no disk. */
void disk_open(void);

/* What the disk has, and bytes of a sector: 512 to 4096. */
uint64_t disk_sectors(void);
uint32_t disk_sector_size(void);

/* Reads or writes `count` sectors from `sector` on. Requires: at most DISK_TRANSFER bytes. Return 1, or 0: the disk cannot, or
 * has no such sectors. */
int disk_read(uint64_t sector, uint32_t count, void *to);
int disk_write(uint64_t sector, uint32_t count, const void *from, int force);

/* What was acknowledged is on the medium. Returns 1, or 0: the disk cannot. */
int disk_flush(void);

#endif
