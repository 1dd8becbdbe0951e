/* Returns while the client waits at the door. */
#include "ashlar/driver.h"
#include "door_protocol.h"

void driver(void)
{
    for (uint32_t tries = 0;; tries++) {
        if (AWAIT(DOOR_KNOCK, DOOR_LEAVE) == DOOR_KNOCK) {
            if (tries == 3u) {
                return;
            }
            EMIT(DOOR_ANSWER);
        } else {
            EMIT(DOOR_LEFT);
        }
    }
}
