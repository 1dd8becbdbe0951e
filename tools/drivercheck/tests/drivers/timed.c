/* While the client waits, the driver awaits only the timer: that fires, so the answer comes. */
#include "ashlar/driver.h"
#include "door_protocol.h"

#include "timer_protocol.h"

static const struct timer_arm soon = {1000};

void driver(void)
{
    for (;;) {
        if (AWAIT(DOOR_KNOCK, DOOR_LEAVE) == DOOR_KNOCK) {
            uint32_t mailbox;

            EMIT(TIMER_ARM, 0, &soon);
            do {
                mailbox = AWAIT(TIMER_FIRED);
            } while (mailbox != TIMER_FIRED);
            EMIT(DOOR_ANSWER);
        } else {
            EMIT(DOOR_LEFT);
        }
    }
}
