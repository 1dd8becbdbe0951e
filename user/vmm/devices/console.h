/* Between the guest's serial port and the monitor's console. */
#ifndef VMM_CONSOLE_H
#define VMM_CONSOLE_H

#include <stdint.h>

/* `slot`: the console. Once per start of the guest. */
void console_start(uint32_t slot);
/* Writes the guest's output to the console, as much as it has room for. `idle`: the guest waits, so write everything;
 * otherwise only when it has become long or old: each write may have to wait for other CPUs' output. */
void console_flush(uint32_t idle, uint64_t now);
/* Called after each exit that can have produced output: is there something that should not wait? */
uint32_t console_wants_flush(void);
/* Fetches input for the guest, if there is any. */
void console_fetch(void);
/* When to flush again at the latest; ~0 if there is nothing to write. */
uint64_t console_deadline(void);
/* Writes everything, waiting for room as print() does: before the monitor itself prints. */
void console_drain(void);

#endif
