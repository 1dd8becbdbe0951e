#include "mean.h"

void mean_add(struct mean *mean, uint64_t reading)
{
    mean->reading[mean->next] = reading;
    mean->next = (mean->next + 1) % MEAN_MOST;
    if (mean->count < MEAN_MOST) {
        mean->count++;
    }
}

uint64_t mean_value(const struct mean *mean)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < mean->count; i++) {
        sum += mean->reading[i];
    }
    return mean->count == 0 ? 0 : sum / mean->count;
}
