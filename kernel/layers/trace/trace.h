/* What happens on each CPU and when, for `ashlar trace` and for processes with `trace = true` in the description. Only kernels
 * built with TRACE=1 record; in others the calls are not compiled. */
#ifndef ASHLAR_TRACE_H
#define ASHLAR_TRACE_H

#include <stdint.h>

#include "abi.h"

/* `what` is one of TRACE_SWITCH and its neighbours of abi.h, which say what `detail` is. Requires: the caller's CPU is in the
 * kernel, interrupts off. */
void trace_event(uint32_t what, uint32_t detail);

#endif
