/* After one knock it only looks at its timer. */
#include "ashlar/driver.h"
#include "door_protocol.h"

#include "timer_protocol.h"

static const struct timer_arm soon = {1000};

void driver(void)
{
    if (AWAIT(DOOR_KNOCK, DOOR_LEAVE) == DOOR_KNOCK) {
        EMIT(DOOR_ANSWER);
    } else {
        EMIT(DOOR_LEFT);
    }
    for (;;) {
        EMIT(TIMER_ARM, 0, &soon);
        AWAIT(TIMER_FIRED);
    }
}
