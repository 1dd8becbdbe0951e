/* Bounded buffers of 64-bit words between any number of writers and readers. Writers and readers are each served in
 * arrival order, so none starves. No process owns a buffer: its words stay when a process that uses it ends. */
#ifndef ASHLAR_BBQ_H
#define ASHLAR_BBQ_H

#include <stdint.h>

#include "config.h"

/* Requires: start-up; b < NUM_BBQ, 1 <= capacity <= BBQ_CAPACITY. Ensures: b is empty and has room for capacity
 * words. */
void bbq_define(uint32_t b, uint32_t capacity);

/* Appends word, blocking while b is full. Requires: b < NUM_BBQ, no lock held.
 * Returns STATUS_OK; ERR_BAD_STATE (b is not defined); ERR_CANCELLED (the process is being ended; b unchanged). */
uint32_t bbq_insert(uint32_t b, uint64_t word);

/* Takes the oldest word, blocking while b is empty; bbq_result() gives it. Requires: b < NUM_BBQ, no lock held.
 * Returns STATUS_OK; ERR_BAD_STATE (b is not defined); ERR_CANCELLED (the process is being ended; b unchanged). */
uint32_t bbq_remove(uint32_t b);

/* The word that the current thread's last successful bbq_remove took. */
uint64_t bbq_result(void);

/* Requires: t belongs to this CPU and does not run. Ensures: if t waits for a buffer, its call returns ERR_CANCELLED.
 * Returns 1 if t waits for a buffer, else 0. */
uint32_t bbq_cancel(uint32_t t);

uint32_t bbq_check(void);

#endif
