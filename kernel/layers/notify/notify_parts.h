/* The rare paths of notifications, not inlined into the others (arch/x86_64/inlining.h). Private to the layer. */
#ifndef ASHLAR_NOTIFY_PARTS_H
#define ASHLAR_NOTIFY_PARTS_H

#include <stdint.h>

/* The first waiter in n's queue stands in the notification from now on. Requires: lock of n held, the queue not
 * empty. */
void notify_next_waiter(uint32_t n);

/* Sets bits for which no thread waits, if the owner lives, and interrupts a watching CPU. Requires: lock of n held.
 * Ensures: released. */
void notify_keep(uint32_t n, uint64_t bits);

/* Blocks the current thread, which notify_begin_wait has marked, until it is woken or the deadline has passed. */
void notify_block_until(uint32_t current, uint64_t deadline);

#endif
