/* After one knock it only looks at its timer. */
#include "ashlar/driver.h"
#include "door_protocol.h"

#include "timer_protocol.h"

void driver(void)
{
    if (AWAIT(DOOR_KNOCK, DOOR_LEAVE) == DOOR_KNOCK) {
        EMIT(DOOR_ANSWER);
    } else {
        EMIT(DOOR_LEFT);
    }
    for (;;) {
        EMIT(TIMER_ARM);
        AWAIT(TIMER_FIRED);
    }
}
