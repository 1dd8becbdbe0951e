/* Queues of threads: doubly linked lists over thread ids. Each thread is in at most one queue. Every operation takes
 * constant time. No lock of its own: queue q is guarded by the lock of the layer that uses it (config.h assigns the
 * ids), which the caller must hold, or belongs to one CPU. */
#ifndef ASHLAR_QUEUE_H
#define ASHLAR_QUEUE_H

#include <stdint.h>

#include "config.h"

/* Requires: start-up, one CPU runs. Ensures: every queue is empty. */
void queue_init(void);

/* Requires: q < NUM_QUEUE, t < NUM_THREAD is in no queue. Ensures: t is the last (first) of q. */
void queue_enqueue(uint32_t q, uint32_t t);
void queue_enqueue_head(uint32_t q, uint32_t t);

/* Requires: t is in no queue, before is in q. Ensures: t is directly before `before`. */
void queue_insert_before(uint32_t q, uint32_t t, uint32_t before);

/* Removes and returns the first thread of q; NONE if q is empty. */
uint32_t queue_dequeue(uint32_t q);

/* Requires: t is in a queue. Ensures: it is in none. */
void queue_remove(uint32_t t);

/* The first thread of q, or NONE. */
uint32_t queue_peek(uint32_t q);

/* The thread after t in its queue, or NONE. */
uint32_t queue_next(uint32_t t);

/* The queue t is in, or NONE. Exact only while the caller holds that queue's lock. */
uint32_t queue_of(uint32_t t);

uint32_t queue_check(void);

#endif
