/* What the trap layer keeps apart from the message path (arch/x86_64/inlining.h). No other layer includes this. */
#ifndef ASHLAR_TRAP_PARTS_H
#define ASHLAR_TRAP_PARTS_H

/* Ends the current thread; the last one of its process takes the process down, piece by piece, each piece followed by
 * whatever interrupt or better thread waits. Does not return. */
void trap_end_thread(void);

/* Lets one waiting interrupt in and serves it. Where a thread that has waited may wake others, this comes in between: from
 * one window to the next no more than two threads get the processor in turn. Requires: no lock held. */
void trap_window(void);

#endif
