/* What the kernel checks of the boot table. That a system makes sense is checked by the tool, on the description. An image may
 * be damaged all the same, or made by something else, so start-up checks what the kernel's own safety needs:
 *
 * - header and sections: they lie within the image, and no section has more entries than the kernel's arrays;
 * - indices: every process, thread, CPU, endpoint, notification, object and slot that an entry names exists;
 * - texts end, since they are printed;
 * - loops end: the parents of a process lead to a first process;
 * - addresses: segments take their contents from the payload, pages of the image are mapped whole and not for writing,
 *   entry and stack are user addresses;
 * - what layers require of their definitions: priorities, budgets, capacities, interrupt lines;
 * - authority: devices, ports, virtual machines, shares and children have one holder, and no window or port range holds
 *   memory, a device of the kernel, or part of another range.
 *
 * What a layer's own function refuses is left to it: page addresses and protections of segments, receivers of endpoints and
 * notifications, quotas. Start-up ends with its error. */
#ifndef ASHLAR_BOOT_TABLE_CHECK_H
#define ASHLAR_BOOT_TABLE_CHECK_H

#include "table.h"

/* Each ends the run with the first fault that it finds. Requires that header, checksums and section bounds are good. */
void table_check_objects(void); /* endpoints, notifications, buffers, shares, interrupts, devices, machines, consoles */
void table_check_processes(void); /* processes, threads, segments, grants */

/* Names the entry and the reason, ends the run. */
void table_bad(enum boot_section_index section, uint32_t i, const char *reason) __attribute__((noreturn));

#endif
