/* From the verified boot table to running processes. */
#ifndef ASHLAR_START_H
#define ASHLAR_START_H

/* Checks that the machine has what the system needs, defines every object, releases the other CPUs, creates and
 * starts the processes with BOOT_PROCESS_AUTOSTART. If something does not fit, it fails with a message before any
 * process runs. */
void start_system(void);

#endif
