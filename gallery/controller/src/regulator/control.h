/* A regulator with a proportional and an integral part, in whole numbers. */
#ifndef CONTROL_H
#define CONTROL_H

#include <stdint.h>

#include "../tank.h"

#define TARGET 600000 /* micrometres */

struct control {
    int64_t sum; /* of the deviations, micrometres */
};

/* How far to open the valve at this level, per mille. While the valve can give no more, or no less, the sum stands still: else
 * it would have to be undone first. */
static inline uint64_t control_step(struct control *control, uint64_t level)
{
    int64_t deviation = TARGET - (int64_t)level;
    int64_t sum = control->sum + deviation;
    int64_t valve = deviation / 100 + sum / 50000;

    if (valve < 0) {
        return 0;
    }
    if (valve > VALVE_OPEN) {
        return VALVE_OPEN;
    }
    control->sum = sum;
    return (uint64_t)valve;
}

#endif
