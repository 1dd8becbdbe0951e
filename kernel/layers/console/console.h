/* Named byte streams over the one serial port. Each console has a ring of output and a ring of input; the port is
 * shared by switching: byte 0x0E followed by 0x40 + console chooses the stream that follows, in both directions, and a
 * literal 0x0E is sent twice. Nothing here waits: a full ring refuses the byte. LOCK_CONSOLE guards the rings,
 * LOCK_CONSOLE_PORT the port: that is slow, and who writes should not wait for it. */
#ifndef ASHLAR_CONSOLE_H
#define ASHLAR_CONSOLE_H

#include <stdint.h>

#include "config.h"

#define CONSOLE_SWITCH 0x0eu     /* shift byte of the protocol */
#define CONSOLE_STREAM_BASE 0x40u /* 0x40 + console follows it */
#define CONSOLE_BURST 64u        /* bytes one console sends before the next has its turn */
#define CONSOLE_INPUTS 32u       /* bytes one interrupt receives at most */
#define CONSOLE_SENT 16u         /* bytes the transmitter is given at once: as many as those of PCs take */
#define CONSOLE_REACHED 11u      /* consoles that get these at most: from one to the next it takes two bytes, and one to get */

/* Empties all rings. Requires: start-up, one CPU runs; the stream is at console 0. */
void console_init(void);

/* Appends `count` bytes of `word`, lowest first, to the output of `console`, as far as its ring has room: taking the lock
 * for each byte would make a line a dozen waits when several CPUs write. Requires console < NUM_CONSOLE, count <= 8.
 * Returns how many were taken; they leave with the transmitter's interrupts. */
uint32_t console_put(uint32_t console, uint64_t word, uint32_t count);

/* Removes the oldest input byte of `console`: the byte, or NONE if there is none. Requires console < NUM_CONSOLE. */
uint32_t console_get(uint32_t console);

/* The serial port's interrupt: stores input in the rings of the streams it is for (a full ring drops it), refills the
 * transmitter. Returns the consoles with new input as a bit mask (bit i = console i). */
uint32_t console_interrupt(void);

/* Input that came another way (the keyboard): appends the byte to the input of `console` unless its ring is full.
 * Requires console < NUM_CONSOLE. Returns 1 if it was taken, else 0. */
uint32_t console_input(uint32_t console, uint32_t byte);

/* Sends everything stored, waiting for the transmitter. Only for the end of the run: takes as long as the port takes. */
void console_drain(void);

/* 0 if every ring is within its bounds, else the number of the broken invariant. */
uint32_t console_check(void);

#endif
