/* The two lock algorithms. Only spinlock.c and the lock benchmark include this. Requirements and guarantees are
 * those of spinlock_acquire and spinlock_release. */
#ifndef ASHLAR_SPINLOCK_PARTS_H
#define ASHLAR_SPINLOCK_PARTS_H

#include <stdint.h>

void spinlock_ticket_acquire(uint32_t lock);
void spinlock_ticket_release(uint32_t lock);
void spinlock_mcs_acquire(uint32_t lock);
void spinlock_mcs_release(uint32_t lock);

/* Debug builds. 1 if no CPU holds or waits for lock, else 0. */
uint32_t spinlock_ticket_free(uint32_t lock);
uint32_t spinlock_mcs_free(uint32_t lock);

/* The slow half of acquire: waits until the ticket is served. */
void spinlock_ticket_wait(uint32_t lock, uint64_t ticket);

#endif
