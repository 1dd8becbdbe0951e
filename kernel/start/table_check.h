/* The parts of the boot table's verification. Each ends the run with the first fault it finds. */
#ifndef ASHLAR_BOOT_TABLE_CHECK_H
#define ASHLAR_BOOT_TABLE_CHECK_H

#include "table.h"

/* Requires that header, checksums and section bounds are good. */
void table_check_objects(void);   /* endpoints, notifications, buffers, shares, interrupts, devices, machines, consoles */
void table_check_processes(void); /* processes, threads, segments, grants */

/* Names the entry and the reason, ends the run. */
void table_bad(enum boot_section_index section, uint32_t i, const char *reason) __attribute__((noreturn));

#endif
