/* From the verified boot table to running processes. */
#ifndef ASHLAR_START_H
#define ASHLAR_START_H

/* Compares what the system needs with what the machine has, defines every object, releases the other CPUs, creates and
 * starts the processes marked for it. Ends the run with a message if something does not fit; then nothing has started. */
void start_system(void);

#endif
