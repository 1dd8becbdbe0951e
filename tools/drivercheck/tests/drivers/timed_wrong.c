/* The timer is cancelled and armed again and again while the client waits. */
#include "ashlar/driver.h"
#include "door_protocol.h"

#include "timer_protocol.h"

static const struct timer_arm soon = {1000};

void driver(void)
{
    for (;;) {
        if (AWAIT(DOOR_KNOCK, DOOR_LEAVE) == DOOR_KNOCK) {
            uint32_t mailbox = TIMER_CANCELLED;

            while (mailbox == TIMER_CANCELLED) {
                EMIT(TIMER_ARM, 0, &soon);
                EMIT(TIMER_CANCEL);
                mailbox = AWAIT(TIMER_FIRED, TIMER_CANCELLED);
            }
            if (mailbox == TIMER_FIRED) {
                AWAIT(TIMER_CANCELLED);
            }
            EMIT(DOOR_ANSWER);
        } else {
            EMIT(DOOR_LEFT);
        }
    }
}
