/* The PS/2 keyboard, scan code set 1, US layout: turns make and break codes into ASCII. Its state (shift, control,
 * caps lock, extended prefix) belongs to the CPU that serves KEYBOARD_LINE; no lock. */
#ifndef ASHLAR_KEYBOARD_H
#define ASHLAR_KEYBOARD_H

#include <stdint.h>

/* All modifier keys up. Requires: start-up. */
void keyboard_init(void);

/* The keyboard's interrupt: takes one scan code. Returns the ASCII byte it completes, or NONE. */
uint32_t keyboard_interrupt(void);

#endif
