#ifndef ASHLAR_X86_64_FATAL_H
#define ASHLAR_X86_64_FATAL_H

#include <stdint.h>

#define FATAL_CODE 0x7eu /* end-of-run code of a fatal kernel error */

/* Prints without locks or interrupts, waiting for the port. */
void fatal_text(const char *text);
void fatal_hex(uint64_t value);

/* `word` holds the registers in the order of the user context. Does not return. */
void fatal_exception(const uint64_t *word);

#endif
