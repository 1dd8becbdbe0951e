/* The invariant walk of debug builds: every layer's own invariants, then those that relate several layers. */
#ifndef ASHLAR_INVARIANTS_H
#define ASHLAR_INVARIANTS_H

#include <stdint.h>

#include "config.h"

/* 1 if this kernel can walk its tables (DEBUG), else 0. */
uint32_t invariants_available(void);

/* Returns 0 if every invariant holds, otherwise layer * 1000 + number of the first broken one; layers count from 1 in
 * kernel/layers.order, 99 stands for an invariant across layers. Always 0 without DEBUG. Requires: all other CPUs are
 * stopped (stop_other_cpus) or there are none; no lock held. */
uint32_t invariants_check(void);

#endif
