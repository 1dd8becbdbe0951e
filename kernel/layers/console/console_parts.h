/* Private to the console layer; not inlined (arch/x86_64/inlining.h), so that machine code is validated in one place for all its
 * callers. */
#ifndef ASHLAR_CONSOLE_PARTS_H
#define ASHLAR_CONSOLE_PARTS_H

#include <stdint.h>

/* The next byte to send, or NONE. Requires: LOCK_CONSOLE held. */
uint32_t console_next_byte(void);

#endif
