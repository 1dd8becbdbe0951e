/* The mean of the last readings. */
#ifndef MEAN_H
#define MEAN_H

#include <stdint.h>

#define MEAN_MOST 10u /* readings that count */

/* All zeros: no reading yet. */
struct mean {
    uint64_t reading[MEAN_MOST];
    uint64_t count; /* of the readings that are held */
    uint64_t next;  /* where the next one goes */
};

/* Adds a reading; the oldest goes when there is no room. */
void mean_add(struct mean *mean, uint64_t reading);

/* The mean, rounded down; 0 if there is no reading. */
uint64_t mean_value(const struct mean *mean);

#endif
