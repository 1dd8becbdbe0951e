/* Drivers that are run in every way, and what each consists of. */
#ifndef EXPLORE_H
#define EXPLORE_H

#include "ashlar/domain.h"
#include "ashlar/monitor.h"

struct region {
    void *at;
    uint32_t size;
};

struct subject {
    void (*driver)(void);
    const struct protocol *protocols[2];
    uint32_t num_protocol;
    const struct region *regions; /* its objects */
    uint32_t num_region;
};

extern const struct subject subjects[];
extern const uint32_t num_subject;

#endif
