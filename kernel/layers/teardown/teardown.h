/* Teardown: returns everything that a dying process holds, in bounded steps between which interrupts are served.
 * Endpoints are closed and their waiters released, interrupt lines, notifications, DMA mappings and virtual
 * machines are returned, children are ended, then shares and memory. */
#ifndef ASHLAR_TEARDOWN_H
#define ASHLAR_TEARDOWN_H

#include <stdint.h>

#include "config.h"

/* One bounded step of the teardown of process p. Requires: p is DYING, the caller is its last thread, no lock
 * held. Returns 1 if there is more to do; 0 when p holds nothing but its container (process_finish is next). May
 * block until a child has ended. */
uint32_t teardown_step(uint32_t p);

#endif
