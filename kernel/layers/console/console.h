/* Named byte streams over the one serial port. Each console has a ring of output and a ring of input; the port is
 * shared by switching: byte 0x0E followed by 0x40 + console chooses the stream that follows, in both directions, and
 * a literal 0x0E is sent twice. Nothing here waits: a full ring refuses the byte. LOCK_CONSOLE guards the rings and is
 * never held during an access to the port, which is slow. The port belongs to the CPU that serves its interrupt, which
 * receives one byte and sends two; LOCK_CONSOLE_PORT keeps that apart from console_drain. */
#ifndef ASHLAR_CONSOLE_H
#define ASHLAR_CONSOLE_H

#include <stdint.h>

#include "config.h"

#define CONSOLE_SWITCH 0x0eu      /* shift byte of the protocol */
#define CONSOLE_STREAM_BASE 0x40u /* 0x40 + console follows it */
#define CONSOLE_BURST 64u         /* bytes one console sends before the next one's turn */
#define CONSOLE_REACHED 1u        /* most consoles that one interrupt gives input to */

/* Empties all rings. Requires: start-up, one CPU runs; the stream is at console 0. */
void console_init(void);

/* Requires: start-up. Ensures: writers interrupt this CPU, which must be the one that serves SERIAL_LINE. */
void console_serve_on(uint32_t cpu);

/* Appends up to `count` bytes of `word`, lowest first, to the output of `console`, as many as its ring has room for.
 * Several bytes a call, because writers on several CPUs contend for the lock. Requires console < NUM_CONSOLE, count
 * <= 8. Returns how many were taken; the transmitter's interrupts send them. */
uint32_t console_put(uint32_t console, uint64_t word, uint32_t count);

/* Removes the oldest input byte of `console`: the byte, or NONE if there is none. Requires console < NUM_CONSOLE. */
uint32_t console_get(uint32_t console);

/* The serial port's interrupt: stores a received byte in the ring of the selected stream (a full ring drops it) and
 * gives the transmitter two bytes; what remains interrupts again. Returns the console with new input as a bit mask
 * (bit i: console i). */
uint32_t console_interrupt(void);

/* Input from another source (the keyboard): appends the byte to the input of `console` unless its ring is full.
 * Requires console < NUM_CONSOLE. Returns 1 if it was taken, else 0. */
uint32_t console_input(uint32_t console, uint32_t byte);

/* Sends all stored output, waiting for the transmitter. Only for power off: takes as long as the port needs. */
void console_drain(void);

/* 0 if every ring is within its bounds, the mark of waiting output is that of the rings, and output that waits is being
 * sent; else the number of the broken invariant. */
uint32_t console_check(void);

#endif
