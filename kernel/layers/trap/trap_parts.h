/* What the trap layer keeps apart from the message path (arch/x86_64/paths.h). No other layer includes this. */
#ifndef ASHLAR_TRAP_PARTS_H
#define ASHLAR_TRAP_PARTS_H

/* Ends the current thread; the last one of its process takes the process down, piece by piece, each piece followed by
 * whatever interrupt or better thread waits. Does not return. */
void trap_end_thread(void);

#endif
