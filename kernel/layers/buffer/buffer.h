/* Bounded buffers of 64-bit words between any number of writers and readers. Writers and readers are each served in
 * arrival order, so none starves. No process owns a buffer: its words stay when a process that uses it ends. */
#ifndef ASHLAR_BUFFER_H
#define ASHLAR_BUFFER_H

#include <stdint.h>

#include "config.h"

/* Requires: start-up; b < NUM_BUFFER, 1 <= capacity <= BUFFER_CAPACITY. Ensures: b is empty and has room for capacity
 * words. */
void buffer_define(uint32_t b, uint32_t capacity);

#define BUFFER_WAITED 0xfffffffeu

/* Appends word, or waits first while b is full. Requires: b < NUM_BUFFER, no lock held. Returns STATUS_OK; ERR_BAD_STATE (b is
 * not defined); BUFFER_WAITED: the thread has waited, and must call buffer_insert_waited next, interrupts apart. */
uint32_t buffer_insert(uint32_t b, uint64_t word);

/* Returns STATUS_OK; ERR_CANCELLED (the process is being ended; b unchanged). */
uint32_t buffer_insert_waited(uint32_t b, uint64_t word);

/* Takes the oldest word, or waits first while b is empty; buffer_result() gives it. Requires and returns as buffer_insert, and
 * buffer_remove_waited as buffer_insert_waited. */
uint32_t buffer_remove(uint32_t b);
uint32_t buffer_remove_waited(uint32_t b);

/* The word that the current thread's last successful buffer_remove took. */
uint64_t buffer_result(void);

/* Requires: t belongs to this CPU and does not run. Ensures: if t waits for a buffer, its call returns ERR_CANCELLED.
 * Returns 1 if t waits for a buffer, else 0. */
uint32_t buffer_cancel(uint32_t t);

uint32_t buffer_check(void);

#endif
