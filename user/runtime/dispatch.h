/* The dispatcher of a domain's threads. */
#ifndef ASHLAR_DISPATCH_H
#define ASHLAR_DISPATCH_H

#include "ashlar/domain.h"

void dispatch_start(void);

/* The running thread waits for `set` and has no message. Runs another thread if one has a message, or has not started; returns 1 when the
 * running thread is to look again, 0 if every thread waits and none has a message. */
int dispatch(const struct mail_set *set);

/* Adds to `set`, for which the running thread is about to wait, what the others wait for. Returns 0 if one of them has not come
 * to wait yet. */
int dispatch_all_sets(struct mail_set *set);

/* How many threads there are; with one there is nothing to dispatch. */
extern uint32_t dispatch_threads;

/* Whether a pending message is in the set. */
int domain_has_pending(const struct mail_set *set);

#endif
